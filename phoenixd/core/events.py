"""What happened: past tense, frozen. An event about an older incarnation changes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from phoenixd.core.behind.world import World
from phoenixd.core.causes import CutHow, EndCause, Obstacle
from phoenixd.core.hooks import EVIDENCE, Hook, HookEvent
from phoenixd.core.spec import MINUTE, AgentSpec, FleetLimits
from phoenixd.core.tasks.state import JobRules, Outcome
from phoenixd.core.work import Deed, Survey


@dataclass(frozen=True, slots=True)
class AgentDeclared:
    """The operator declared an agent, or changed its specification."""

    spec: AgentSpec
    start: bool = False
    world: World | None = None
    """What was seen of one whose run lives although nobody declared it so far."""


@dataclass(frozen=True, slots=True)
class AgentWithdrawn:
    """The operator removed an agent; it is stopped first."""

    agent: str


@dataclass(frozen=True, slots=True)
class StartRequested:
    """An operator wants the agent running."""

    agent: str
    fresh: bool = False
    by: str = "operator"


@dataclass(frozen=True, slots=True)
class StopRequested:
    """An operator wants the agent down, and kept down."""

    agent: str
    by: str = "operator"
    after_iteration: bool = False


@dataclass(frozen=True, slots=True)
class RestartRequested:
    """An operator wants a new incarnation."""

    agent: str
    fresh: bool = False
    by: str = "operator"


@dataclass(frozen=True, slots=True)
class SendRequested:
    """An operator wants this text typed into the agent."""

    agent: str
    message_id: str
    text: str = field(repr=False)
    by: str = "operator"
    within: float = 60.0
    """Seconds in which it has to be begun: others may be typed before it."""


@dataclass(frozen=True, slots=True)
class AnswerRequested:
    """An operator answers what an agent asks. text_hash: of the text that was shown, where the caller names it.

    words: what the operator said, read by what the item asks; as_text: none of it is an option or a verb. Without words
    allow and reason are the answer.
    """

    agent: str
    item: int
    allow: bool = False
    reason: str = ""
    text_hash: str | None = None
    by: str = "operator"
    words: tuple[str, ...] = ()
    as_text: bool = False


@dataclass(frozen=True, slots=True)
class HandoffRequested:
    """An operator, or an orchestrator itself, wants its seat handed over to the next generation."""

    agent: str
    by: str = "operator"
    why: str = ""


@dataclass(frozen=True, slots=True)
class RollbackRequested:
    """An operator wants a handoff called off: the predecessor goes on."""

    agent: str
    by: str = "operator"


@dataclass(frozen=True, slots=True)
class HandoffAcked:
    """A successor acknowledges, and quotes its package: the hash, the one-time word, and facts by their names.

    changed: the package file on disk is no longer the one that was written.
    """

    agent: str
    package: str
    word: str = field(repr=False)
    facts: tuple[tuple[str, str], ...] = ()
    by: str = "operator"
    changed: bool = False


@dataclass(frozen=True, slots=True)
class PapersUpdated:
    """The project's plans, contexts and manifests tell what the ledger and the reports do. agent: the seat."""

    agent: str
    handoff: str


@dataclass(frozen=True, slots=True)
class PapersFailed:
    """They could not be brought up to date. final: to try again would fail alike."""

    agent: str
    handoff: str
    why: str
    final: bool = False


@dataclass(frozen=True, slots=True)
class PackageWritten:
    """The package stands in both sessions' directories.

    package: its hash. word: the one-time word in it. facts: what an ack has to quote beside, by name. opening: what the
    successor is told first. previous, session: the ids of both sessions in it. agent: the seat.
    """

    agent: str
    handoff: str
    package: str
    word: str = field(repr=False)
    facts: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    opening: str = field(default="", repr=False)
    previous: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True)
class PackageFailed:
    """The package could not be written. final: to try again would fail alike."""

    agent: str
    handoff: str
    why: str
    final: bool = False


@dataclass(frozen=True, slots=True)
class TaskRequested:
    """Somebody wants a task done by a worker of its own.

    spec: whose command, place and login the worker gets; its name stands before the worker's. key: the caller's word,
    with which the same request is made once. asked_by: the agent that asks. plan: the task of the project's plan.
    place: the worker's directory without symbolic links.
    """

    spec: AgentSpec
    prompt: str = field(repr=False)
    key: str = ""
    asked_by: str = ""
    by: str = "operator"
    project: str = ""
    plan: str = ""
    after: tuple[str, ...] = ()
    place: str = ""
    writes: bool = True
    timeout: float = 45 * MINUTE
    tries: int = 2


@dataclass(frozen=True, slots=True)
class TaskCancelRequested:
    """Somebody wants a task ended."""

    task: str
    by: str = "operator"


@dataclass(frozen=True, slots=True)
class TaskCollected:
    """What a worker left after that run of its task is collected."""

    task: str
    run: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class HoldAnswered:
    """What became of an operator's answer: taken by the agent, or not, and why not.

    still_held: the request waits on, as far as is known.
    """

    agent: str
    incarnation: int
    hold: int
    taken: bool
    why: str = ""
    still_held: bool = False


@dataclass(frozen=True, slots=True)
class HoldReleased:
    """The agent no longer waits for the answer to a request: it was given at the terminal, or its time is over."""

    agent: str
    incarnation: int
    hold: int


@dataclass(frozen=True, slots=True)
class Delivered:
    """The text arrived: the harness said so, or the terminal took it where no hook can say more.

    queued: the text, when it waits for the harness's next step and no hook will tell of it.
    """

    agent: str
    incarnation: int
    message_id: str
    evidence: str
    queued: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class NotDelivered:
    """The text was not delivered, and why."""

    agent: str
    incarnation: int
    message_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class AgentStarted:
    """exec succeeded: the shim has a living child."""

    agent: str
    incarnation: int
    run_id: str
    pid: int
    start_time: int
    link: int = 0
    """The protocol that its shim's link speaks; 0: not told."""


@dataclass(frozen=True, slots=True)
class StartFailed:
    """The run never lived.

    code: 126 or 127 when the command itself cannot run (the agent is quarantined), 1 when this order cannot (missing
    working directory, arguments too long: counted like a crash), 0 when terminal, shim or disk failed (nobody's fault).
    obstacle: what stood in the way; message says it in words.
    """

    agent: str
    incarnation: int
    code: int
    message: str
    obstacle: Obstacle = "other"


@dataclass(frozen=True, slots=True)
class AgentExited:
    """The shim reaped the agent and its tree is empty. note: the shim's word for a cause that we do not know."""

    agent: str
    incarnation: int
    run_id: str
    code: int | None
    signal: int | None
    cause: EndCause = "exit"
    killed: tuple[str, ...] = ()
    at_wall: float | None = None
    """When it ended, if that was while nobody watched."""
    oom: Literal["", "agent", "host"] = ""
    """What the kernel says of memory: the run reached a limit of its own, or the host had none left."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class ArmedUsed:
    """An armed answer was given: so many times so far (uses), and when it was told (wall)."""

    agent: str
    incarnation: int
    id: str
    uses: int
    at: float


@dataclass(frozen=True, slots=True)
class AgentVanished:
    """The agent's process is gone, and no exit record has come yet."""

    agent: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class ShimLost:
    """The shim itself is gone, so nobody reaps or kills for this run: its tree has to be fenced."""

    agent: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class TreeGone:
    """A fence found nothing of the run alive any more.

    unproven: neither a control group nor a living shim proves it. unread: processes of our user that could not be read,
    and may be the run's. ended: what its exit.json says of an end that is unproven; the agent may have written that.
    untold: of an unproven end, that neither shim nor file tells of a begin; the agent may have taken the file away.
    """

    agent: str
    incarnation: int
    killed: tuple[str, ...] = ()
    unproven: bool = False
    unread: tuple[int, ...] = ()
    ended: AgentExited | None = None
    untold: bool = False


@dataclass(frozen=True, slots=True)
class TreeLingers:
    """Processes of the run are still alive after a kill (uninterruptible sleep, or a fork storm)."""

    agent: str
    incarnation: int
    pids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CallWorkSeen:
    """What the run's processes that began at `ticks` or later have done in their lives, and their dead children.

    cpu: seconds. io: bytes from and to storage. unread: processes of which something could not be read.
    """

    agent: str
    incarnation: int
    ticks: int
    cpu: float
    io: int
    processes: int = 0
    unread: int = 0


@dataclass(frozen=True, slots=True)
class EvidenceSeen:
    """The transcript grew, or somebody wrote a heartbeat.

    age: how old it said it was when it was written, in seconds; below 0 for a time in the future, None without one.
    ordered: an operator wants this claim believed, as `heartbeat simulate` does.
    """

    agent: str
    incarnation: int
    source: str
    age: float | None = None
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class UsageSeen:
    """How full the context of the run's session is, or how large its window. None: not told.

    tokens: what the newest request of the main thread held and brought forth; None from the transcript means that it
    is unknown, as after a compaction. source: "transcript", whose limit is the rollout's window, or "status line". at:
    when the request was answered (wall). model: of which model the status line tells the window. problem: why the
    status line cannot be read.
    """

    agent: str
    incarnation: int
    tokens: int | None
    limit: int | None
    source: Literal["transcript", "status line"]
    at: float | None
    session_id: str = ""
    model: str | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class AnswerCut:
    """The transcript says that an answer of the turn that has just ended was cut at its end.

    at: when that answer was written (wall). went_on: the CLI asked for the rest by itself, and its last message is the
    last part alone. calls: the tools that it called in that answer, which were executed.
    """

    agent: str
    incarnation: int
    how: CutHow
    at: float | None
    went_on: bool = False
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScreenSeen:
    """What somebody read from the pane. verdict: permission, trust, login, working, idle, unknown ...

    reader: "look" where a decision asked for it; else who looked for a purpose of his own. His word on dialogs counts.
    attended: a person has touched the terminal in the last minute, so that a menu there may be his own.
    """

    agent: str
    incarnation: int
    verdict: str
    reader: str = "look"
    attended: bool = False


@dataclass(frozen=True, slots=True)
class AttendanceSeen:
    """Whether somebody who can type sat at the agent's terminal when this run had ended; None: nobody can tell."""

    agent: str
    incarnation: int
    attended: bool | None


@dataclass(frozen=True, slots=True)
class IncidentRecorded:
    """What could be seen of a run that we ended is kept, in this file of the agent's directory.

    opened: when it was ended (wall). record: the file's content, which the journal keeps in a table of its own.
    """

    agent: str
    incarnation: int
    kind: str
    file: str
    lines: int
    opened: float = 0.0
    record: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class CleanedUp:
    """What a cleanup ended of an agent's runs, what it could not end, and which strangers hold its ports.

    occasion: before a run, after one, or by whose order.
    """

    agent: str
    incarnation: int
    occasion: str
    killed: tuple[str, ...] = ()
    remaining: tuple[int, ...] = ()
    foreign: tuple[str, ...] = ()
    looked_at_ports: bool = True


@dataclass(frozen=True, slots=True)
class ReportJudged:
    """A report was held against the facts. of: the worker or task whose report it is, told to `agent`.

    contradicted: the claims that facts contradict, each in words with its reason, without secrets.
    """

    agent: str
    incarnation: int
    of: str
    contradicted: tuple[str, ...] = ()
    verified: int = 0
    unverifiable: int = 0
    beyond: int = 0
    """Contradicted claims that are not listed."""


@dataclass(frozen=True, slots=True)
class RunAdopted:
    """This run is alive under its shim, and supervised again.

    unwatched: nobody heard its evidence for a while (a daemon start, a lost link), so its silence proves nothing yet.
    held: the requests that its shim holds for an answer; None where nobody asked it again, and nothing new is known.
    held_until: the number of its newest event when it said so; of what came later that says nothing. None: no limit.
    link: the protocol that the link speaks; 0: not told. armed: the answers that its shim was told beforehand, with how
    often each was given; None where nothing new is known.
    """

    agent: str
    incarnation: int
    pid: int
    start_time: int
    unwatched: bool = True
    held: tuple[int, ...] | None = ()
    held_until: int | None = None
    link: int = 0
    armed: tuple[tuple[str, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class LinkLost:
    """The link to the run's shim is down, and did not come back at once. The shim lives, as far as is known."""

    agent: str
    incarnation: int
    reason: str


@dataclass(frozen=True, slots=True)
class HooksRefused:
    """How many requests at the run's hook endpoint were not taken in so far, and why the newest of its own was not.

    hooks: those that bore the run's token, or were dropped for the hook program. strangers: all others.
    """

    agent: str
    incarnation: int
    hooks: int
    strangers: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class RunMissing:
    """After a daemon start: no shim and no living process of this run could be found. Its remains are to be fenced."""

    agent: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class Rebooted:
    """After a daemon start on another boot: no process of the saved runs can be alive.

    ended: what exit records tell of runs that had ended before the host went down, and nobody had heard of it.
    """

    boot_id: str
    ended: tuple[AgentExited, ...] = ()


@dataclass(frozen=True, slots=True)
class JournalBehind:
    """After a daemon start: the journal is older than the world, and `why`. specs: what the configuration declares."""

    why: str
    world: World
    specs: tuple[AgentSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class EpochBegun:
    """A daemon began: the next epoch, after the newest that was met anywhere.

    tasks: the highest number of a task that has a directory.
    """

    newest: int
    tasks: int = 0


@dataclass(frozen=True, slots=True)
class RecoveryConfirmed:
    """An operator has seen what was found where the journal was old, and wants what is proposed done."""

    by: str = "operator"


@dataclass(frozen=True, slots=True)
class TerminalSeen:
    """The terminal server was looked at after an outage; alive tells whether panes can be made."""

    alive: bool


@dataclass(frozen=True, slots=True)
class WorkMeasured:
    """How an agent's work looks before or after an iteration. fingerprint: None where it cannot be told (`note`: why).

    done: the file that says that nothing is left to do exists. tokens: spent by the iteration, as far as is known.
    survey: what the next look needs of this one. deeds: what was committed, stashed and pushed since the earlier look;
    lost: why there may have been more. shared: other agents at work in the same place. turn: as in MeasureWork.
    """

    agent: str
    number: int
    at_end: bool
    fingerprint: str | None
    note: str = ""
    done: bool = False
    tokens: int = 0
    survey: Survey | None = None
    deeds: tuple[Deed, ...] = ()
    lost: str = ""
    shared: tuple[str, ...] = ()
    turn: int = 0


@dataclass(frozen=True, slots=True)
class FileLooked:
    """Whether the file exists on which a turn of a sequence depends; None where nobody could tell."""

    agent: str
    number: int
    turn: int
    exists: bool | None


@dataclass(frozen=True, slots=True)
class MeasurementLost:
    """After a daemon start: a measurement or a look that was ordered will not be answered."""

    agent: str


@dataclass(frozen=True, slots=True)
class BreakerReset:
    """Somebody wants a breaker closed, by a command or by deleting its file."""

    agent: str
    by: str = "operator"


@dataclass(frozen=True, slots=True)
class BreakerEdited:
    """Somebody wrote into a breaker's file."""

    agent: str
    state: Literal["CLOSED", "HALF_OPEN", "OPEN"]
    no_progress: int


@dataclass(frozen=True, slots=True)
class BreakerCorrupt:
    """A breaker's file cannot be read; a copy of it was kept."""

    agent: str
    why: str


@dataclass(frozen=True, slots=True)
class LimitsDeclared:
    """The operator changed the fleet-wide limits. jobs: the rules of workers; None where they stay as they are."""

    limits: FleetLimits
    jobs: JobRules | None = None


@dataclass(frozen=True, slots=True)
class SavingHalted:
    """Decisions cannot be made durable now; why: in words. Nothing is started until `SavingResumed`."""

    why: str


@dataclass(frozen=True, slots=True)
class SavingResumed:
    """Decisions become durable again; of those that were made meanwhile some may still wait their turn."""


@dataclass(frozen=True, slots=True)
class TroubleSeen:
    """A watch found something that a person should know of: an agent's documents, the disk (agent: None)."""

    agent: str | None
    kind: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TroubleGone:
    """The same watch found it mended; why: what proved that."""

    agent: str | None
    kind: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class StateEdited:
    """Another hand than the daemon's wrote or removed an agent's state.json, and what it says was taken over."""

    agent: str


@dataclass(frozen=True, slots=True)
class Tick:
    """The earliest deadline has come, or may have."""


OperatorEvent = (
    AgentDeclared
    | AgentWithdrawn
    | StartRequested
    | StopRequested
    | RestartRequested
    | SendRequested
    | AnswerRequested
    | BreakerReset
    | BreakerEdited
    | BreakerCorrupt
    | HandoffRequested
    | RollbackRequested
)
HandoffWork = HandoffAcked | PapersUpdated | PapersFailed | PackageWritten | PackageFailed
"""What came of work on a project's files, whose agent is the seat; and a successor's word, about itself."""
WorkEvent = WorkMeasured | FileLooked | MeasurementLost
RunEvent = (
    AgentStarted
    | StartFailed
    | AgentExited
    | AgentVanished
    | ShimLost
    | TreeGone
    | TreeLingers
    | EvidenceSeen
    | UsageSeen
    | AnswerCut
    | ScreenSeen
    | CallWorkSeen
    | IncidentRecorded
    | RunAdopted
    | RunMissing
    | LinkLost
    | HooksRefused
    | Delivered
    | NotDelivered
    | HoldAnswered
    | HoldReleased
    | ArmedUsed
    | HookEvent
)
RUN_EVENTS: frozenset[type] = frozenset(get_args(RunEvent))
"""To be asked by the type of an event, which is quicker than to try each class of the union."""
FleetEvent = (
    Rebooted
    | TerminalSeen
    | LimitsDeclared
    | Tick
    | JournalBehind
    | EpochBegun
    | RecoveryConfirmed
    | SavingHalted
    | SavingResumed
)
WatchEvent = TroubleSeen | TroubleGone | StateEdited
AfterEvent = CleanedUp | AttendanceSeen | ReportJudged
"""About a run that has ended."""
TaskEvent = TaskRequested | TaskCancelRequested | TaskCollected
Event = OperatorEvent | RunEvent | WorkEvent | HandoffWork | AfterEvent | WatchEvent | FleetEvent | TaskEvent


def is_journaled(event: Event) -> bool:
    """Whether an event is kept in the journal even when it changes no state; mere evidence and ticks are not."""
    match event:
        case Hook():
            return not isinstance(event, EVIDENCE)
        case (
            EvidenceSeen()
            | UsageSeen()
            | AnswerCut()
            | Tick()
            | TreeLingers()
            | TroubleSeen()
            | TroubleGone()
            | SavingHalted()
            | SavingResumed()
            | AgentDeclared()
            | HoldReleased()
            | ScreenSeen()
            | CallWorkSeen()
            | LinkLost()
            | HooksRefused()
            | ArmedUsed()
        ):
            # What is found or declared again and again is kept where something comes of it, and then by that decision.
            return False
        case _:
            return True
