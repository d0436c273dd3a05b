"""The nouns of the lifecycle: a run, a session, and one frozen dataclass per state."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from phoenixd.core.armed_answer import Armed
from phoenixd.core.behind.world import Finding
from phoenixd.core.breaker import Breaker, Closed
from phoenixd.core.causes import CutHow, EndCause
from phoenixd.core.iteration import Iteration, Turn
from phoenixd.core.limits.state import UNLIMITED, Limits, Parking
from phoenixd.core.merit import Merit, Proof, Record
from phoenixd.core.meter.reading import Meter
from phoenixd.core.moment import Instant
from phoenixd.core.parts import View
from phoenixd.core.spec import AgentSpec, Kind


class Desired(StrEnum):
    """What the operator, or a clean exit, wants the agent to be; it outlives every restart."""

    RUNNING = "running"
    STOPPED = "stopped"


class Mode(StrEnum):
    """How a run began."""

    FRESH = "fresh"
    RESUME = "resume"


class PromptKind(StrEnum):
    """What a new run is told first: the operator's goal, to go on with an open turn, or nothing."""

    GOAL = "goal"
    CONTINUE = "continue"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Deaf:
    """The link to a run's shim is lost: since when, and why."""

    since: Instant
    since_wall: float
    why: str


@dataclass(frozen=True, slots=True)
class Run:
    """One incarnation's process, from the decision to spawn it. Times: Instant, and wall seconds for people."""

    incarnation: int
    run_id: str
    mode: Mode
    session_id: str
    prompt: PromptKind
    began: Instant
    began_wall: float
    pid: int | None = None
    start_time: int | None = None
    exec_at: Instant | None = None
    session_seen: bool = False
    """The harness reported its session start in this run."""
    prompt_seen: bool = False
    """The harness reported the prompt that this run was started with."""
    opening: str = ""
    """The message that types the prompt of this run, for a program that is told it by paste, until it arrived."""
    evidence: bool = False
    """The main thread did something in this run: a prompt, a tool, a record in the transcript."""
    hook_seq: int = 0
    """The newest spooled hook that was heard; what the shim sends again is known by it."""
    left: bool = False
    """A person ended the session from inside: whatever time it lived, that was no failed start."""
    drawn: bool = False
    """A look at its screen found its input line."""
    jobs: tuple[str, ...] = ()
    """What goes on in its background and ends with its process, as far as was heard; an agent's words."""
    merit: Merit = Merit()  # noqa: RUF009 - frozen
    """What it has to show for itself."""
    deaf: Deaf | None = None
    """What it says does not arrive."""
    refused: int = 0
    """Hooks of its own that its shim did not take in."""
    strangers: int = 0
    """Requests at its hook endpoint that bore no token of its, and were turned away."""
    link: int = 0
    """The protocol that its shim's link speaks; 0: not told."""


@dataclass(frozen=True, slots=True)
class LostJobs:
    """Background jobs and wake-ups that ended with a process. `incarnation` is the newest one that had any."""

    incarnation: int
    jobs: tuple[str, ...]
    at_wall: float


@dataclass(frozen=True, slots=True)
class Lease:
    """A tool call in flight: silence is expected until `until`, which lies in the past where nothing was promised."""

    tool_use_id: str
    until: Instant
    started: Instant
    is_subagent: bool = False
    """It is a Task call, which is silent while its subagents work."""
    sub: bool = False
    """A subagent's own call: it counts for as long as a Task call of the main thread is open."""
    tool: str = ""
    command: str = ""
    """The beginning of what it runs, without secrets."""
    declared: float | None = None
    """Seconds that the call announced for itself."""
    ticks: int | None = None
    """When it began, in clock ticks since boot, by which processes are dated too; None: unknown, and no work counts."""
    most: Instant = 0.0
    """Until when work may renew it: the CLI ends the call by itself then."""


@dataclass(frozen=True, slots=True)
class WorkWatch:
    """What the processes that began at `ticks` or later had done by `at`, the newest look at them.

    cpu: seconds. io: bytes from and to storage. unread: processes of which that could not be read. asked: when the look
    that is under way was ordered. worked: when they were last seen to have worked.
    """

    ticks: int
    at: Instant
    cpu: float = 0.0
    io: int = 0
    processes: int = 0
    unread: int = 0
    asked: Instant | None = None
    worked: Instant | None = None


@dataclass(frozen=True, slots=True)
class OpenCall:
    """The call in which a run was ended. Seconds. idle: since its processes were last seen to work; None: never.

    over: they worked to the end, and it took longer than a call may.
    """

    tool: str
    command: str
    ran: float
    declared: float | None = None
    idle: float | None = None
    over: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """The agent waits for a person: what for, and since when (wall)."""

    kind: str
    text: str
    since_wall: float
    tool: str | None = None
    """The tool that asks; its end, and not a neighbour's, closes the question."""
    sub: bool = False
    """A subagent asks."""
    seen: bool = False
    """The dialog was seen on the screen, so that its absence there means something."""
    hold: int = 0
    """The shim's number of the request that it holds for an answer; 0 where it holds none."""
    veiled: bool = False
    """Secrets were taken out of the text, so who reads it does not see all that it asks for."""
    since: Instant = 0.0
    whole: bool = False
    """The text holds the whole call, so it can be shown as its tool's form (core.question)."""
    dialog: str = ""
    """Which dialog of session.SCREEN_DIALOGS stands on the screen; "unread" for a screen that nobody can read."""
    dismissed: bool = False
    """The operator's own no, written down beforehand, is on its way; nobody has to be called for it yet."""


@dataclass(frozen=True, slots=True)
class Activity:
    """What is known of a run's doings, from hooks, heartbeats and transcript; saved with each decision."""

    turn_open: bool
    evidence_at: Instant
    evidence_wall: float
    leases: tuple[Lease, ...] = ()
    waiting: Waiting | None = None
    also_asked: tuple[Waiting, ...] = ()
    """Questions whose dialogs come up again, the newest first, when the one that it waits for is answered."""
    stale_claim: Instant | None = None
    """An explicitly old heartbeat timestamp of an open turn, which the next evidence drops."""
    claim_due: Instant | None = None
    """The check from which on that claim is believed; None: at once."""
    looked_at: Instant | None = None
    """When the screen was asked about this silence, before calling it hung."""
    work: WorkWatch | None = None
    """What the open call does, as far as its silence made anybody look."""
    waited: float = 0.0
    """Seconds that this run spent waiting for people, or for a limit to end; no limit on its time counts them."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """Down, and staying down until somebody starts it. failed: it ended badly, and nobody had asked for an end."""

    failed: bool = False
    name: Literal["stopped"] = "stopped"


@dataclass(frozen=True, slots=True)
class Starting:
    """Ordered to spawn; ready when exec succeeded (command) or the first hook came."""

    run: Run
    activity: Activity
    ready_by: Instant
    overdue: bool = False
    """Its first sign of life was due, and its screen is what decides now."""
    name: Literal["starting"] = "starting"


@dataclass(frozen=True, slots=True)
class Running:
    """Alive and supervised."""

    run: Run
    activity: Activity
    exit_due: Instant | None = None
    """Set when the process vanished and its exit record is still awaited (F-PROC-7)."""
    name: Literal["running"] = "running"


class StopStep(StrEnum):
    """How far a stop has come; each step has its own deadline."""

    TERMINATE = "terminate"
    KILL = "kill"
    FENCE = "fence"


class Afterwards(StrEnum):
    """What follows once the old tree is known gone."""

    STAY = "stay"
    RESTART = "restart"
    REMOVE = "remove"
    JUDGE = "judge"
    """Treat the end like any other death: count it, back off, resume or go fresh."""


@dataclass(frozen=True, slots=True)
class Stopping:
    """Being ended, or its remains being fenced; nothing starts before the tree is known gone."""

    run: Run
    activity: Activity
    step: StopStep
    deadline: Instant
    then: Afterwards
    why: str
    fresh: bool = False
    asked: Instant = 0.0
    code: int | None = None
    """The exit code to record in place of what the kill makes of it: 124 hung, 125 overtime."""
    spoiled: bool = False
    """A rule of ours ended it, for its session is no good: that is a death, whoever sent the signal."""
    unseen_since: Instant | None = None
    """Since when nothing of it is seen, where nothing proves that it is gone."""
    name: Literal["stopping"] = "stopping"


@dataclass(frozen=True, slots=True)
class BackingOff:
    """Due to start at `until`; past it, queued behind the cap on concurrent starts or an outage."""

    until: Instant
    mode: Mode
    prompt: PromptKind
    attempt: int = 0
    unattended: Instant | None = None
    """When it was due before it was asked whether a person ended the run at its terminal; None: that is not asked."""
    name: Literal["backing_off"] = "backing_off"


@dataclass(frozen=True, slots=True)
class Outage:
    """This agent waits out an outage, or, where it has a run, tries whether it is over.

    group: who is hit, as people are told it: "account team", "harness NAME". since_wall: when it began. tries: how
    many of the group were let try so far.
    """

    group: str
    since_wall: float
    tries: int = 0


@dataclass(frozen=True, slots=True)
class Parked:
    """Down, and to be started when what `Agent.limits` holds is waited out."""

    name: Literal["parked"] = "parked"


@dataclass(frozen=True, slots=True)
class Quarantined:
    """Restart intensity exceeded, or a start that cannot work; only an operator's start releases it.

    counted: it was given up because of how often its runs ended, which an outage explains as well.
    """

    cause: str
    counted: bool = False
    name: Literal["quarantined"] = "quarantined"


State = Stopped | Starting | Running | Stopping | BackingOff | Parked | Quarantined
Live = Starting | Running | Stopping


@dataclass(frozen=True, slots=True)
class Session:
    """The harness session that a resume would go back to. Wall times."""

    session_id: str
    created_wall: float
    active_wall: float
    spoiled: str | None = None
    """Why it must not be resumed again; None while it may."""
    turn_open: bool = False
    """Whether a turn was open when the newest run of it ended."""
    hangs: int = 0


OOM_WORDS = {
    "": "",
    "agent": ", out of memory: it reached its own limit",
    "host": ", out of memory: the host had none left",
}


@dataclass(frozen=True, slots=True)
class LastExit:
    """How the newest run ended. `code` and `signal` are both None when nobody could know."""

    incarnation: int
    code: int | None
    signal: int | None
    cause: EndCause
    lived: float
    at_wall: float
    killed: int = 0
    ran: bool = True
    """Whether the command was ever executed in this run."""
    left: bool = False
    """Whether a person ended the session from inside."""
    limited: bool = False
    """Whether a limit, or a service that was out of order, had ended its work: nothing of it counts against it."""
    oom: Literal["", "agent", "host"] = ""
    """Whether the kernel killed it for memory: at its own limit, or because the host had none left."""
    proof: Proof = ""
    """By what the run was productive; empty if it was not."""
    note: str = ""
    """Why it could not be started, in words; or a shim's word for a cause that we do not know."""

    @property
    def told(self) -> str:
        """The cause as people and scripts are told it."""
        return self.note or self.cause

    @property
    def text(self) -> str:
        """The end in words."""
        if self.signal is not None:
            return f"signal {self.signal}{OOM_WORDS[self.oom]}"
        if self.code is not None:
            return f"{self.cause}, exit {self.code}" if self.cause in ("hung", "overtime") else f"exit {self.code}"
        return "unknown status"


@dataclass(frozen=True, slots=True)
class Incident:
    """A run that we ended although nobody had asked: which one, as what, why, and when (wall)."""

    incarnation: int
    kind: Literal["hung", "overtime"]
    reason: str
    at_wall: float
    call: OpenCall | None = None
    """What it hung in, where a call was open."""

    @property
    def file(self) -> str:
        """Its place in the agent's directory, where what could be seen of the run is kept."""
        return f"incidents/{self.incarnation}-{self.kind}.json"


@dataclass(frozen=True, slots=True)
class InboxItem:
    """Something that needs a person; opened by a typed event, closed by the event that proves it."""

    id: int
    agent: str
    incarnation: int
    kind: str
    text: str
    text_hash: str
    opened_wall: float
    answer_by: Literal["reply", "attach", "command", "answer"]
    hold: int = 0
    """The request that an answer goes to; 0 where only the terminal can answer."""
    answering: str = ""
    """The answer that is under way: allow, deny, or the message that types it."""
    veiled: bool = False
    """It asks for more than its text shows, so it cannot be allowed from afar."""
    tool: str | None = None
    whole: bool = False
    """The text holds the whole call."""
    left: bool = False
    """The run that asked is over, and its program has forgotten the question: it is told again, with the answer."""
    answer: str = ""
    """What the agent is to be told of it, once it can be told."""
    carried: int = 0
    """The incarnation whose first prompt says the answer."""


@dataclass(frozen=True, slots=True)
class StandingAlert:
    """An alert that was raised and is not over. watched: a watch outside the core says when it is."""

    id: int
    kind: str
    text: str
    raised_wall: float
    incarnation: int = 0
    watched: bool = False
    about: tuple[str, ...] = ()
    """What its text was made of, where that may have to be made anew; of an outage its group."""
    gist: str = ""
    """The text without the next command, where it holds one."""


@dataclass(frozen=True, slots=True)
class Cut:
    """An answer of the newest turn ended before it was whole, and no other turn has begun since. Wall times.

    at: when it was written, None for unknown. went_on: the CLI asked for the rest by itself. calls: the tools that it
    called in that answer, which were executed. message_id: of the word to go on. told: that arrived; taken: it began a
    turn.
    """

    incarnation: int
    how: CutHow
    at: float | None
    seen_wall: float
    went_on: bool = False
    calls: tuple[str, ...] = ()
    message_id: str = ""
    told: bool = False
    taken: bool = False


@dataclass(frozen=True, slots=True)
class Disproved:
    """A report with claims that facts contradict. of: whose it is, or of which task. claims: some of them, in words."""

    of: str
    claims: tuple[str, ...]
    at_wall: float


@dataclass(frozen=True, slots=True)
class Agent:
    """All that the supervisor knows of one agent. `since` and `reason` belong to the present state."""

    spec: AgentSpec
    desired: Desired
    state: State
    since_wall: float
    reason: str
    incarnation: int = 0
    session: Session | None = None
    crashes: tuple[Instant, ...] = ()
    short_runs: int = 0
    """Runs in a row that lived under the productive limit."""
    restarts: int = 0
    hooks_seen: bool = False
    last_exit: LastExit | None = None
    incident: Incident | None = None
    """The newest one."""
    last_prompt: str | None = None
    """The newest prompt that a person or `send` submitted; None while the operator's goal stands."""
    items: tuple[InboxItem, ...] = ()
    """What of it needs a person, the oldest first; at most one is what its run asks now."""
    breaker: Breaker = field(default_factory=Closed)
    iteration: Iteration | None = None
    """What a loop is at; None between two iterations."""
    left_out: bool = False
    """Somebody stopped this member of a sequence on purpose: it has no turn until somebody starts it, or the first."""
    rounds: int = 0
    """Iterations since somebody started the loop."""
    workplaces: tuple[str, ...] = ()
    """Directories that it went to beside its own; of these, worktrees of its repository are places of its work."""
    turns: tuple[Turn, ...] = ()
    """Of a resident that is judged by the turn: the one that is open, and those whose work is being measured."""
    turns_begun: int = 0
    begun: tuple[Instant, ...] = ()
    """When its newest iterations began, as many as its limit for an hour asks for."""
    removing: bool = False
    alerts: tuple[StandingAlert, ...] = ()
    limits: Limits = UNLIMITED
    lost: LostJobs | None = None
    """What ended with an earlier run, until a later one was told of it and brought a turn to its end."""
    record: Record = field(default_factory=Record)
    """What its newest runs had to show, or had not."""
    outage: Outage | None = None
    """The outage that it is in, with others of its account or harness."""
    looks: int = 0
    """Looks since the present state began that changed nothing: counted, and not journaled."""
    found: Finding | None = None
    """What was found of it where the journal was older than the world, until an operator has confirmed it."""
    unproven: int = 0
    """The newest incarnation whose end nothing proved; 0 for none. What bears its mark may turn up later."""

    disproved: tuple[Disproved, ...] = ()
    """Reports that claim what did not happen, until a newer one of the same task, or a person, takes their place."""

    meter: Meter = Meter()  # noqa: RUF009 - frozen
    """How full its context is."""
    armed: tuple[Armed, ...] = ()
    """What its shim was told to answer hooks with, and what of that was given; those of an earlier run mean nothing."""
    cut: Cut | None = None
    """Its newest answer, where that was cut."""

    @property
    def name(self) -> str:
        return self.spec.name

    def view(self, is_news: bool = True) -> View:
        """What a part of the agent sees of the rest; is_news: the event is no hook that was heard before."""
        state = self.state
        if not isinstance(state, Starting | Running | Stopping):
            return View(self.spec, self.incarnation, state.name, is_news=is_news)
        waiting, turn_open = state.activity.waiting, state.activity.turn_open
        asks = waiting.kind if waiting is not None else ""
        run = state.run
        return View(
            self.spec,
            run.incarnation,
            state.name,
            turn_open,
            asks,
            is_news,
            hooks_seen=self.hooks_seen,
            is_parked=self.limits.parking is not None,
            session_id=run.session_id if run.session_seen else "",
            prompt_seen=run.prompt_seen,
            began=run.began,
            up_since=run.exec_at if run.exec_at is not None else run.began,
            deaf_since=run.deaf.since if run.deaf is not None else None,
        )

    @property
    def activity(self) -> Activity | None:
        """What the living run is at, if any."""
        return self.state.activity if isinstance(self.state, Starting | Running | Stopping) else None

    @property
    def item(self) -> InboxItem | None:
        """The newest one, if any: what its run asks now comes before what an earlier one left."""
        return next(reversed(sorted(self.items, key=lambda one: not one.left)), None)

    @property
    def has_begun(self) -> bool:
        """Whether a run was begun since it was declared; the incarnation alone does not tell (see Fleet.retired)."""
        return self.session is not None

    @property
    def state_name(self) -> str:
        """The state as people and scripts are told it: a run that lives through a limit is parked."""
        return "parked" if self.parking is not None else self.state.name

    @property
    def parking(self) -> Parking | None:
        """What it waits out, whether its run lives or it is down; a run that begins or is being ended does not wait."""
        return self.limits.parking if isinstance(self.state, Running | Parked) else None

    @property
    def has_judged_turns(self) -> bool:
        """Whether its turns are judged by the breaker, as a loop's iterations are."""
        rules = self.spec.breaker
        return self.spec.kind is Kind.RESIDENT and rules.enabled and rules.per_turn

    @property
    def run(self) -> Run | None:
        """The living run, if any."""
        return self.state.run if isinstance(self.state, Starting | Running | Stopping) else None
