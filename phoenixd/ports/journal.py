"""The journal, and what is kept outside of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.behind.world import KeptBreaker, SeenRun, Wish
from phoenixd.core.facts import Fact, Weight
from phoenixd.core.handoff.state import Handoff
from phoenixd.core.meter.reading import UsageSample
from phoenixd.core.moment import Instant
from phoenixd.core.mutes.state import Mutes
from phoenixd.core.seat.state import Seat
from phoenixd.core.tasks.state import Tasks
from phoenixd.core.treatment.case import Cases
from phoenixd.core.undo.state import Undoable


@dataclass(frozen=True, slots=True)
class Entry:
    """One journaled event with what was decided. `agent` is None for fleet events. Times of its `Moment`.

    What an older version wrote has no facts, and tells as story: nobody weighed it, and is_weighed says so.
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
    is_weighed: bool = True


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry as read back, with its row number: the id of SSE events."""

    seq: int
    entry: Entry


@dataclass(frozen=True, slots=True)
class KeptIncident:
    """A failure that was noticed, and what could be seen of it. opened: wall. body, evidence: JSON, without secrets.

    What is empty here and stands in the journal already is kept: the evidence is stored with the decision, the body
    once the copy is written. case_id, cause, rule: of the diagnosis. closed (wall): a later run was productive. number:
    which failure of its Case it is, by which a row is found again; what is read back does not tell it.
    """

    agent: str
    incarnation: int
    kind: str
    opened: float
    body: str
    case_id: str = ""
    cause: str | None = None
    rule: str = ""
    evidence: str = ""
    closed: float | None = None
    number: int = 1


@dataclass(frozen=True, slots=True)
class KeptTreatment:
    """One treatment and what came of it, as core.treatment.case.Treated has it. Wall times."""

    case_id: str
    number: int
    scope: str
    cause: str | None
    detail: str
    rule: str
    confidence: float
    harness: str
    agent: str
    incarnation: int
    action: str
    treatment: str
    by: str
    failed: float
    acted: float
    run: int
    productive: float | None
    turns: int
    outcome: str
    why: str
    decided: float | None


@dataclass(frozen=True, slots=True)
class KeptCase:
    """All that the journal keeps of a Case, the oldest first."""

    id: str
    incidents: tuple[KeptIncident, ...]
    treatments: tuple[KeptTreatment, ...]


@dataclass(frozen=True, slots=True)
class KeptMark:
    """One row of what became of an agent's marker, as in core.facts.MarkerNoted. wall: when."""

    agent: str
    incarnation: int
    wall: float
    what: str
    verdict: str
    number: int
    step: int
    why: str
    tokens: int


@dataclass(frozen=True, slots=True)
class KeptLife:
    """One run from its spawn to its end, as far as that is known. Wall times. how: what its end meant."""

    agent: str
    incarnation: int
    run_id: str | None = None
    session_id: str | None = None
    mode: str | None = None
    started: float | None = None
    reason: str | None = None
    first_evidence: float | None = None
    productive: float | None = None
    ended: float | None = None
    code: int | None = None
    signal: int | None = None
    cause: str | None = None
    end_reason: str | None = None
    how: str | None = None


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
    cases: Cases = Cases()  # noqa: RUF009 - frozen
    undoable: tuple[Undoable, ...] = ()
    mutes: Mutes = field(default_factory=dict)
    treatments: tuple[KeptTreatment, ...] = ()


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
    cases: Cases = Cases()  # noqa: RUF009 - frozen
    undoable: tuple[Undoable, ...] = ()
    mutes: Mutes = field(default_factory=dict)


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
        before: int | None = None,
    ) -> list[StoredEntry]:
        """Read entries in order of their row number; `newest` takes the last `limit` ones, still in order.

        story: only rows of that weight. before: only rows below that number.
        """
        ...

    async def lives(self, names: Sequence[str], limit: int) -> list[KeptLife]:
        """The runs of these agents, the newest first."""
        ...

    async def usage(self, names: Sequence[str], since: float | None, limit: int) -> list[UsageSample]:
        """How full the context of these agents was since a wall time: the newest samples, the oldest of them first."""
        ...

    async def marks(self, names: Sequence[str], limit: int) -> list[KeptMark]:
        """What became of the marker of these agents, the newest first."""
        ...

    async def treatments(self) -> list[KeptTreatment]:
        """Every treatment that is kept, the oldest first."""
        ...

    async def case(self, case_id: str) -> KeptCase | None:
        """What is kept of a Case; None where nothing is."""
        ...

    async def handoffs(self, seat: str, limit: int) -> list[Handoff]:
        """A seat's handoffs that are over, the newest first."""
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
    """What stands in an agent's own directory. incarnation: the highest that its files name. ended: exit.json tells the
    end of the run of run.json. heard: the newest hook that a shim wrote down, with the id of its run. breaker,
    anchored: as a Trace has them."""

    wish: Wish | None = None
    last: SeenRun | None = None
    incarnation: int = 0
    ended: bool = False
    heard: tuple[str, str] = ("", "")
    breaker: KeptBreaker | None = None
    anchored: str = ""


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
