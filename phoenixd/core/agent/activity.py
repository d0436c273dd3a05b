"""What a run is at: its turn, its open calls, what it waits for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from phoenixd.core.agent.standing import InboxItem, StandingAlert
from phoenixd.core.moment import Instant


class PromptKind(StrEnum):
    """What a new run is told first: the operator's goal, to go on with an open turn, to seal its report, or nothing."""

    GOAL = "goal"
    CONTINUE = "continue"
    NONE = "none"
    SEAL = "seal"


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

    cpu: seconds. io: bytes from and to storage. unread: processes where that could not be read. asked: when the look
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
    """Which dialog of dialogs.SCREEN_DIALOGS stands on the screen; "unread" for a screen that nobody can read."""
    dismissed: bool = False
    """The operator's own no, written down beforehand, is on its way; nobody has to be called for it yet."""
    touched: Instant | None = None
    """When keys were read at its terminal, or an answer was given from afar. No look has told yet what became of it."""
    keyed: Instant | None = None
    """When keys were read at its terminal last."""
    call: str = ""
    """The id of the call that asks; empty where that is not known."""


@dataclass(frozen=True, slots=True)
class Doubted:
    """A question that was closed although its dialog may be drawn yet (core.doubt): it, and what it covered.

    touched: when keys were read last. looked: when the screen was looked at last.
    """

    waiting: Waiting
    item: InboxItem
    touched: Instant
    looked: Instant
    also_asked: tuple[Waiting, ...] = ()
    alert: StandingAlert | None = None
    """The end that nobody has been told of."""


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
    doubted: Doubted | None = None
    """The question before, while it is not sure that it is over; it waits for nothing meanwhile."""
    stale_claim: Instant | None = None
    """An explicitly old heartbeat timestamp of an open turn, which the next evidence drops."""
    claim_due: Instant | None = None
    """The check from which on that claim is believed; None: at once."""
    claimed: str = ""
    """What an operator did to have that claim, as a clause; empty where a heartbeat made it."""
    looked_at: Instant | None = None
    """When the screen was asked about this silence, before calling it hung."""
    looks: tuple[Instant, ...] = ()
    """When its screen is looked at once more, because an answer that nobody saw may have broken its turn off."""
    work: WorkWatch | None = None
    """What the open call does, as far as its silence made anybody look."""
    turn_since: Instant | None = None
    """When its newest turn began, put off by the time for which that waited for a person or a limit."""
    waited: float = 0.0
    """Seconds that this run spent waiting for people, or for a limit to end; no limit on its time counts them."""

    kept: bool = False
    """The end of its newest turn was held up once. No shim holds up one turn's end twice."""

    @property
    def can_be_kept(self) -> bool:
        """Whether the end of the turn that is open can be held up by an armed answer."""
        return self.turn_open and not self.kept

    @property
    def open_since(self) -> Instant | None:
        """When the turn that is open began; None where none is."""
        return self.turn_since if self.turn_open else None
