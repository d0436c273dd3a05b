"""What concerns all agents: the host, the journal, limits, time; and what watches found."""

from __future__ import annotations

from dataclasses import dataclass, field

from phoenixd.core.behind.world import World
from phoenixd.core.events.runs import AgentExited
from phoenixd.core.spec import AgentSpec, FleetLimits
from phoenixd.core.tasks.state import JobRules, Task
from phoenixd.core.treatment.authority import Caps


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

    tasks: the highest number of a task that has a directory. unwatched: since when (wall) nobody watched: when the
    daemon before ended, or was heard last; None where there was none. ended: what told that daemon to end; empty where
    it was killed, or died. kept: where the journal is lost or old, what stands on the disk of tasks, the oldest first.
    """

    newest: int
    tasks: int = 0
    unwatched: float | None = None
    ended: str = ""
    kept: tuple[Task, ...] = ()


@dataclass(frozen=True, slots=True)
class RecoveryConfirmed:
    """An operator has seen what was found where the journal was old, and wants what is proposed done."""

    by: str = "operator"


@dataclass(frozen=True, slots=True)
class AlertAcknowledged:
    """An operator has seen what stands under this number, of an agent or of the fleet."""

    alert: int
    by: str = "operator"


@dataclass(frozen=True, slots=True)
class AlertsTold:
    """A way to the operator, by its name, has told of alerts: of each the name that it was told under, and its number.

    why: why it is not to tell them; empty where it told them.
    """

    way: str
    alerts: tuple[tuple[str | None, int], ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class WaysBegun:
    """After a daemon start: these ways to the operator are configured anew. stood: alerts that no daemon told them."""

    new: tuple[str, ...]
    stood: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class TerminalSeen:
    """The terminal server was looked at after an outage; alive tells whether panes can be made."""

    alive: bool


@dataclass(frozen=True, slots=True)
class TerminalEnded:
    """The process of the terminal server has ended, and with it every pane: each shim in one ends its run, and goes."""


@dataclass(frozen=True, slots=True)
class LimitsDeclared:
    """The operator changed the fleet-wide limits. jobs: the rules of workers; clinic: how much it treats.

    None where they stay as they are.
    """

    limits: FleetLimits
    jobs: JobRules | None = None
    clinic: Caps | None = None


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
    """The same watch found it over; why: what proved that."""

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


FleetEvent = (
    Rebooted
    | TerminalSeen
    | TerminalEnded
    | LimitsDeclared
    | Tick
    | JournalBehind
    | EpochBegun
    | RecoveryConfirmed
    | AlertAcknowledged
    | AlertsTold
    | WaysBegun
    | SavingHalted
    | SavingResumed
)


WatchEvent = TroubleSeen | TroubleGone | StateEdited
