"""What the runtime needs of the outside, as Protocols, and the plain values that cross them.

Drivers implement these, tests and the simulation put fakes in their place, the core knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from phoenixd.core.actions import Alert, Reassure, RecordIncident, RecordSessions, Spawn, UpdatePapers, WritePackage
from phoenixd.core.agent import Agent, StandingAlert
from phoenixd.core.behind.world import SeenRun, Wish
from phoenixd.core.boot import Boot
from phoenixd.core.events import Event, PackageFailed, PackageWritten, PapersFailed, PapersUpdated
from phoenixd.core.facts import Fact, Weight
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.meter.reading import UsageSample
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.seat.state import Seat
from phoenixd.core.tasks.state import Outcome, Task, Tasks
from phoenixd.core.work import Deed, Survey
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.conversation import Conversation
from phoenixd.documents.conversation_end import DEFAULT_BUDGET
from phoenixd.documents.seal import Told
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.documents.transcript import Used
from phoenixd.harness.prompts import Prompt


class Clock(Protocol):
    """Supervised time, and the only sleep in the runtime."""

    def now(self) -> Moment:
        """Read the instant of a decision; draws a new chance and nonce each time."""
        ...

    def at(self) -> Instant:
        """Read supervised time alone, for what is measured and not decided on."""
        ...

    async def sleep_until(self, at: Instant) -> None:
        """Return at or shortly after `at`; may return early."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process that cannot be confused with a later one of the same pid. start_time: clock ticks since boot."""

    boot_id: str
    pid: int
    start_time: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One journaled event with what was decided. `agent` is None for fleet events. Times of its `Moment`.

    What an older version wrote has no facts, and tells as story: nobody weighed it.
    """

    at: Instant
    wall: float
    agent: str | None
    incarnation: int
    event: str
    detail: dict[str, Any]
    state: str | None = None
    reason: str = ""
    readings: tuple[tuple[str, str | int | float | None], ...] = ()
    actions: tuple[str, ...] = ()
    weight: Weight = "detail"
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry as read back, with its row number: the id of SSE events."""

    seq: int
    entry: Entry


@dataclass(frozen=True, slots=True)
class KeptIncident:
    """A run that we ended, and what could be seen of it. opened: wall. body: JSON, without secrets."""

    agent: str
    incarnation: int
    kind: str
    opened: float
    body: str


@dataclass(frozen=True, slots=True)
class Batch:
    """What one turn of the supervisor saves in one commit, before any of its actions is dispatched."""

    at: Instant
    wall: float
    entries: tuple[Entry, ...] = ()
    changed: tuple[Agent, ...] = ()
    removed: tuple[tuple[str, int], ...] = ()
    """Agents by name, and their last incarnations, which are never given again."""
    next_item: int = 1
    alerts: tuple[StandingAlert, ...] = ()
    """The fleet's own; an agent's stand in its snapshot."""
    epoch: int = 0
    after_row: int = 0
    """The numbers of these rows are higher than that."""
    incidents: tuple[KeptIncident, ...] = ()
    usage: tuple[UsageSample, ...] = ()
    seats: tuple[Seat, ...] = ()
    tasks: Tasks = Tasks()  # noqa: RUF009 - frozen


@dataclass(frozen=True, slots=True)
class Saved:
    """What the journal remembers at start."""

    at: Instant = 0.0
    wall: float = 0.0
    boot_id: str = ""
    agents: tuple[Agent, ...] = ()
    next_item: int = 1
    alerts: tuple[StandingAlert, ...] = ()
    retired: Mapping[str, int] = field(default_factory=dict)
    """The last incarnations of removed agents, by name."""
    epoch: int = 0
    """That of the newest commit; 0 in a journal of a version that knew none."""
    seats: tuple[Seat, ...] = ()
    tasks: Tasks = Tasks()  # noqa: RUF009 - frozen


class Journal(Protocol):
    """The one durable truth: events, decisions with reasons, and the fleet's snapshot."""

    def load(self) -> Saved: ...

    async def commit(self, batch: Batch) -> tuple[int, ...]:
        """Make a batch durable and return the row numbers of its entries; raises JournalFailed."""
        ...

    async def read(
        self,
        *,
        agent: str | Sequence[str] | None = None,
        after: int = 0,
        since_wall: float | None = None,
        limit: int = 1000,
        newest: bool = False,
        story: bool = False,
    ) -> list[StoredEntry]:
        """Read entries in order of their row number; `newest` takes the last `limit` ones, still in order.

        story: only rows of that weight.
        """
        ...

    async def remember(self, key: str, value: str) -> None:
        """Keep a small fact (boot id, when an operator last looked)."""
        ...

    async def recall(self, key: str) -> str | None: ...

    def release_reserve(self) -> bool:
        """Free the space held back for orders that end processes; whether there was any."""
        ...

    async def shortage(self) -> str | None:
        """Why nothing new should begin although commits may succeed: too little room is left. None: there is enough.

        The space held back is taken again as soon as there is room for it.
        """
        ...


@dataclass(frozen=True, slots=True)
class RunFiles:
    """What stands in an agent's own directory. incarnation: the highest that its files name."""

    wish: Wish | None = None
    last: SeenRun | None = None
    incarnation: int = 0


class Epochs(Protocol):
    """What is kept outside the journal. The readers block, and believe nothing that is not whole."""

    def epoch(self) -> int:
        """The epoch that was made durable last; 0 where none is known."""
        ...

    def names(self) -> frozenset[str]:
        """The agents that have a directory."""
        ...

    def run_files(self, agent: str) -> RunFiles: ...

    async def keep_epoch(self, number: int) -> None:
        """Make the epoch durable; raises OSError."""
        ...

    async def keep_wish(self, agent: str, wish: Wish) -> None:
        """Make an agent's wish durable; raises OSError."""
        ...


@dataclass(frozen=True, slots=True)
class ShimRun:
    """The run that a shim says is alive under it. An older shim does not say session, mode and epoch."""

    incarnation: int
    run_id: str
    pid: int
    start_time: int
    session_id: str = ""
    mode: str = ""
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class ShimHello:
    """A shim's answer to hello: who it is, what runs, and how the last run ended (exit record as JSON)."""

    agent: str
    shim: ProcessIdentity
    protocol: int
    version: str
    hook_port: int
    run: ShimRun | None
    exit: dict[str, Any] | None
    held: tuple[int, ...] = ()
    """The requests that it holds for an answer, as it said when the link was opened."""
    last_seq: int = 0
    """The number of the last event that it had spooled by then."""
    told: int = 0
    """The newest durable epoch that it was told."""
    knows_epochs: bool = False
    unswept: object = None
    """The runs for whose strays this daemon has to sweep, as the shim says it."""
    armed: tuple[tuple[str, int], ...] | None = None
    """The answers that it was told beforehand for this run, and how often each was given; None: it knows none."""


@dataclass(frozen=True, slots=True)
class ShimMessage:
    """Anything a shim says after hello: event name and the rest of its JSON object."""

    agent: str
    event: str
    body: dict[str, Any]


class ShimLinks(Protocol):
    """Connections to the shims. Messages come to the sink given at construction; a closed link is not a death.

    One that was lost is taken up again as long as its shim lives: `link_lost` tells that this takes time, `hello` that
    it is done.
    """

    async def connect(self, agent: str) -> ShimHello | None:
        """Return the hello of the agent's living shim, connecting if needed; None when nobody listens."""
        ...

    def take_up(self, agent: str, reason: str) -> None:
        """Go on trying to reach a shim that could not be connected to, as after a loss."""
        ...

    def start(self, agent: str, order: str, incarnation: int, run_id: str) -> None:
        """Hand over an order file; raises ShimFailed when the link is down."""
        ...

    def terminate(self, agent: str, incarnation: int) -> None: ...

    def kill(self, agent: str, incarnation: int) -> None: ...

    def acknowledge(self, agent: str, seq: int) -> None: ...

    def answer(self, agent: str, incarnation: int, hold: int, body: dict[str, object]) -> None:
        """Answer a request that the shim holds; raises ShimFailed when the link is down. `answered` tells the rest."""
        ...

    def arm(self, agent: str, incarnation: int, answer: Mapping[str, object]) -> None:
        """Tell the shim an answer beforehand; raises ShimFailed when the link is down, or it is too old for that."""
        ...

    def disarm(self, agent: str, incarnation: int, id: str) -> None: ...

    def note_use(self, agent: str, id: str, uses: int) -> None:
        """Tell the shim that so many uses of an answer are journaled; without a link it will tell them again."""
        ...

    def notice(self, agent: str, lines: Sequence[str]) -> None: ...

    def quit(self, agent: str) -> None: ...


class Terminal(Protocol):
    """The tmux server of our own. All may raise TerminalFailed, which says nothing about the agents."""

    async def observe(self) -> bool:
        """Whether the server answers."""
        ...

    async def revive(self) -> bool:
        """Start the server where that is ours to do (not under systemd), and connect; whether it answers now."""
        ...

    async def open_pane(self, agent: str, argv: Sequence[str]) -> None:
        """Make session phx-<agent> with one pane running argv; a pane that the agent has is closed first."""
        ...

    async def close_pane(self, agent: str) -> None: ...

    async def take_session(self, agent: str, seat: str, generation: int) -> None:
        """Have the agent's session bear the seat's name, take over who is attached to the one before, and tell them."""
        ...

    async def panes(self) -> frozenset[str]:
        """Names of the agents that have a pane. An empty answer means none, never a failure."""
        ...

    async def capture(self, agent: str, history: int = 0) -> str:
        """The visible text of the pane, without escape sequences, and up to so many lines that scrolled off it."""
        ...

    async def paste(self, agent: str, text: str) -> str:
        """Leave copy mode, paste `text` sanitised, and return what was pasted; does not press Enter."""
        ...

    async def press_enter(self, agent: str) -> None: ...

    async def press_escape(self, agent: str) -> None:
        """Press the key that says no to a dialog."""
        ...

    async def tell_attached(self, agent: str, words: str) -> None:
        """Show words of our own, letters and digits, to whoever is attached, without touching the pane."""
        ...

    async def clear_line(self, agent: str) -> None:
        """Press the keys that take away what stands in a line editor, or its last line, and submit nothing."""
        ...

    async def last_typed(self, agent: str) -> float | None:
        """When a person last pressed a key in this pane (Unix time, whole seconds); None when nobody is attached."""
        ...

    async def make_room(self, agent: str) -> str | None:
        """Make a pane large enough to be read; why that cannot be, or None where it is."""
        ...

    async def unread(self, agent: str) -> int | None:
        """Bytes that were typed and that the pane's program has not read yet; None where that cannot be told."""
        ...

    async def discard_unread(self, agent: str) -> None:
        """Take back what was typed and not read."""
        ...


@dataclass(frozen=True, slots=True)
class Fenced:
    """What a fence did: processes ended (pid and command), and pids that were still alive at the end.

    unproven: nothing is seen, and nothing proves that there is nothing: the run has no leaf and its shim is gone.
    unread: processes of our own user which could not be read then, and may be the run's.
    """

    killed: tuple[str, ...] = ()
    remaining: tuple[int, ...] = ()
    unproven: bool = False
    unread: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Leftover:
    """A process that a run of ours owns, and why it was chosen."""

    pid: int
    command: str
    why: str


@dataclass(frozen=True, slots=True)
class PortHolder:
    """A stranger that listens on a port which an agent wants. pid: None where it is another user's, and unknown."""

    port: int
    pid: int | None
    command: str


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What a cleanup found: owned processes (ended, unless it was a dry run or they remain), and strangers at ports."""

    owned: tuple[Leftover, ...] = ()
    foreign: tuple[PortHolder, ...] = ()
    remaining: tuple[int, ...] = ()


class Cleaner(Protocol):
    """Ends what runs of an agent left over, and nothing else."""

    async def clean(self, agent: Agent, *, dry_run: bool = False) -> Leftovers:
        """Clean by the agent's rules; raises PhoenixdError where the process table cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run whose tree was proven empty when it ended."""

    agent: str
    incarnation: int
    run_id: str


class Sweeper(Protocol):
    """Ends what was started for ended runs from outside of their trees, and bears their marks."""

    async def sweep(self, runs: Iterable[EndedRun]) -> Mapping[EndedRun, Fenced]:
        """Look once for all of them; what was found of which. Raises OSError where it could not look."""
        ...


class Memory(Protocol):
    """What the kernel says of processes that it killed for want of memory."""

    def note(self) -> None:
        """Remember the counters as they are: what they have counted so far was another's."""
        ...

    def killer_of(self, agent: str, incarnation: int) -> Literal["", "agent", "host"]:
        """Whether a run that SIGKILL ended was killed at its own limit, or because the host had no memory left."""
        ...


@dataclass(frozen=True, slots=True)
class WorkDone:
    """What some processes have done in their lives, and their dead children: seconds of CPU, bytes from and to storage.

    unread: processes of which something could not be read, as where another user's are hidden: their work is unknown.
    """

    cpu: float = 0.0
    io: int = 0
    processes: int = 0
    unread: int = 0


class ProcessTable(Protocol):
    """Processes by identity, never by name."""

    def boot_id(self) -> str: ...

    def boot(self) -> Boot:
        """Which life of the process table this is."""
        ...

    def watch(self, identity: ProcessIdentity, on_death: Callable[[], None]) -> bool:
        """Call back once when that very process dies; False when it is gone already."""
        ...

    def is_alive(self, identity: ProcessIdentity) -> bool:
        """Same process and not a zombie."""
        ...

    def is_below(self, identity: ProcessIdentity, root: ProcessIdentity) -> bool | None:
        """Whether a process descends from another one; None when there is no such process (any more)."""
        ...

    async def work_since(self, agent: str, incarnation: int, child: ProcessIdentity, ticks: int) -> WorkDone:
        """What the run's processes have done that began at `ticks` (clock ticks since boot) or later."""
        ...

    async def fence(self, agent: str, incarnation: int, run_id: str, child: ProcessIdentity | None) -> Fenced:
        """End all of a run: its cgroup leaf, the child's descendants, and processes carrying the run id."""
        ...


@dataclass(frozen=True, slots=True)
class ShimCommand:
    """How to start a shim for an agent, and where its order goes."""

    argv: tuple[str, ...]


class Starter(Protocol):
    """Turns a decision to spawn into files and argv: brief, settings, environment, order."""

    async def shim_command(self, agent: str) -> ShimCommand: ...

    async def write_order(self, agent: Agent, spawn: Spawn, hello: ShimHello) -> str:
        """Write all that the run needs and return the order's path; raises LaunchFailed."""
        ...


class Papers(Protocol):
    """An agent's documents, and what they have it told."""

    async def opening_words(self, agent: Agent) -> str:
        """What the agent's run is to be told first, where it is typed; raises LaunchFailed."""
        ...

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        """Bring the agent's documents (state.json, brief.md, session.json, ops.jsonl) up to date."""
        ...

    async def record_incident(self, agent: Agent, action: RecordIncident, screen: str) -> tuple[int, str]:
        """Write an incident's file, without secrets; returns its lines of the screen, and its content."""
        ...


class Screens(Protocol):
    """What the agent's own CLI shows and writes, read."""

    def classify(self, agent: Agent, screen: str) -> str:
        """What the harness's pane shows: permission, trust, login, resume-picker, working, idle or unknown."""
        ...

    def dismisses(self, agent: Agent, verdict: str) -> bool:
        """Whether Escape says no to the dialog that `classify` calls so, and ends nothing else."""
        ...

    def failed_turn(self, agent: Agent, facts: SessionFacts) -> TurnFailed | None:
        """The hook that the harness lacks: how the turn of this run ended that its transcript says the API refused."""
        ...

    def input_line(self, agent: Agent, screen: str) -> str | None:
        """What stands in the harness's input line, unsent; None where no input line is to be seen."""
        ...

    def holds(self, agent: Agent, screen: str, text: str) -> bool:
        """Whether the pane shows that the harness holds this text until it has time for it."""
        ...

    def prompt(self, agent: Agent, text: str) -> Prompt:
        """What the harness makes of a text that is typed into it."""
        ...


class Records(Protocol):
    """What shims leave on disk for the time when nobody listens."""

    def exit_record(self, agent: str) -> dict[str, Any] | None:
        """The newest exit.json of an agent, or None when there is none that can be trusted to be whole."""
        ...

    def run_record(self, agent: str) -> dict[str, Any] | None:
        """The newest run.json of an agent, likewise: the run that a shim began last."""
        ...


class Evidence(Protocol):
    """Follows heartbeat files and transcripts of living runs, and reports growth to the sink given at construction."""

    def follow(self, agent: Agent) -> None: ...

    def forget(self, agent: str) -> None: ...


class Changes(Protocol):
    """What changes in directories, told when it happens."""

    def watch(self, directory: Path) -> bool:
        """Watch it from now on, also where it is watched already; False where it is there and cannot be watched."""
        ...

    async def next(self) -> frozenset[Path]:
        """Wait until something changed; a directory stands for all that is in it."""
        ...

    def close(self) -> None: ...


class Transcripts(Protocol):
    """What CLIs write down of a session, read where no hook tells."""

    async def end(self, agent: Agent) -> int:
        """How long the transcript is, in bytes."""
        ...

    async def ends(self, agent: Agent) -> dict[str, int]:
        """How long each file of the session is, in bytes: those of its subagents too."""
        ...

    async def answer_counted(self, agent: Agent, after: Mapping[str, int], mark: str, *, allow: bool) -> bool | None:
        """Whether the answer that was given to a permission counted, as the files after these lengths tell.

        None: they do not tell yet. True also where nothing of the kind is ever written. mark: ASCII, part of what a
        denied agent was told.
        """
        ...

    async def queued(self, agent: Agent, after: int) -> tuple[str, ...]:
        """Prompts that the transcript, after that many bytes, says were put off until the CLI has time for them."""
        ...

    async def facts(self, agent: Agent) -> SessionFacts | None:
        """The newest facts of the agent's session; None where no transcript can be read."""
        ...

    async def usage(self, agent: Agent) -> Used | None:
        """What the newest request held; None where that is unknown, also between a compaction and the next request."""
        ...

    async def conversation(self, agent: Agent, budget: int = DEFAULT_BUDGET) -> Conversation | None:
        """The end of what was said, within a budget of characters; None where no transcript can be read."""
        ...


@dataclass(frozen=True, slots=True)
class WorkReading:
    """How an agent's work looks. fingerprint: None where it cannot be told, and then `note` says why.

    done: the file that says so exists. tokens: what the session's context holds, 0 where unknown or not asked for.
    took: seconds. survey: what the next look needs to know of this one. deeds: what was made since the earlier look,
    and lost: why there may have been more. shared: other agents at work in the same worktree.
    """

    fingerprint: str | None
    note: str = ""
    done: bool = False
    tokens: int = 0
    took: float = 0.0
    survey: Survey | None = None
    deeds: tuple[Deed, ...] = ()
    lost: str = ""
    shared: tuple[str, ...] = ()


class Work(Protocol):
    """Looks at what agents work on, without running anything of it."""

    async def measure(self, agent: Agent, since: Survey | None = None) -> WorkReading:
        """Take the fingerprint of an agent's work, and tell what was made since an earlier look.

        It never raises for what the work looks like.
        """
        ...

    async def exists(self, directory: str, pattern: str) -> bool:
        """Whether a file matches a pattern below a directory."""
        ...


@dataclass(frozen=True, slots=True)
class WriterAnswer:
    """What a brief writer answered, not yet believed. tokens: what it cost, 0 where the writer does not tell.

    ended: what the program, or the model, itself says of the answer's end.
    """

    text: str
    tokens: int = 0
    ended: Told = "whole"


class BriefWriter(Protocol):
    """Makes of the material a JSON object of the shape of documents.brief.answer. It decides nothing."""

    async def write(self, agent: Agent, material: BriefMaterial, complaint: str | None = None) -> WriterAnswer:
        """Answer within the agent's own time limit; raises WriterFailed.

        complaint: what was wrong with the answer before.
        """
        ...


class Notifier(Protocol):
    """Tells the operator, by whatever way is configured."""

    def tell(self, word: Alert | Reassure) -> None:
        """Pass on that an alert was raised, or is over; never waits, never raises."""
        ...


class Handover(Protocol):
    """The work on a project's files that handoffs order. No method raises for what the disk or a document refuses."""

    async def update(self, action: UpdatePapers) -> PapersUpdated | PapersFailed: ...

    async def write(self, action: WritePackage) -> PackageWritten | PackageFailed: ...

    async def record(self, action: RecordSessions) -> None: ...


class Jobs(Protocol):
    """What workers leave."""

    async def collect(self, agent: Agent, task: Task) -> Outcome:
        """Read a worker's last answer, take in its outputs, and write manifest and report.

        Raises PhoenixdError where ours cannot be written; nothing that the worker left raises.
        """
        ...


@dataclass(slots=True)
class Outside:
    """All ports together, as the composition root fills them."""

    clock: Clock
    journal: Journal
    terminal: Terminal
    shims: ShimLinks
    processes: ProcessTable
    starter: Starter
    papers: Papers
    screens: Screens
    records: Records
    evidence: Evidence
    transcripts: Transcripts
    notifier: Notifier
    work: Work
    cleaner: Cleaner
    handover: Handover
    jobs: Jobs


Sink = Callable[[Event], None]
