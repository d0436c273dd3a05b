"""What a handoff has come to: the value that the journal keeps, from which the next step is derived.

Nothing here imports the agent or the fleet, which hold it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from phoenixd.core.moment import Instant


class Step(StrEnum):
    """How far a handoff has come. Before FENCE the predecessor holds the seat, from it on the successor does."""

    FREEZE = "freeze"
    DRAIN = "drain"
    UPDATE = "update"
    SNAPSHOT = "snapshot"
    SPAWN = "spawn"
    AWAIT_ACK = "await_ack"
    FENCE = "fence"
    SHUTDOWN = "shutdown"
    ROLLBACK = "rollback"
    DONE = "done"
    ROLLED_BACK = "rolled_back"


OVER = frozenset({Step.DONE, Step.ROLLED_BACK})
BEFORE_FENCE = frozenset({Step.FREEZE, Step.DRAIN, Step.UPDATE, Step.SNAPSHOT, Step.SPAWN, Step.AWAIT_ACK})

Trigger = Literal["operator", "meter", "recycle", "compaction", "full", "marker"]
"""Who asked: an operator or the orchestrator itself, its meter, its exit 100 or 101, its CLI that shortens the context
by itself, a context in which nothing more can be asked, or whose front is lost."""

Said = Literal["", "armed", "sending", "sent", "unsaid"]
"""Whether the predecessor was told to finish: by an armed answer, by a text that is under way or arrived, or not."""


@dataclass(frozen=True, slots=True)
class StepTime:
    """A step that is over: which, when it began (wall), and how many supervised seconds it took (E92)."""

    step: Step
    began_wall: float
    took: float


@dataclass(frozen=True, slots=True)
class Letter:
    """A text that was sent to the seat meanwhile; who holds the seat afterwards gets it.

    misses: vain tries so far. due: when the next one may begin.
    """

    message_id: str
    text: str = field(repr=False)
    by: str = "operator"
    misses: int = 0
    due: Instant | None = None


@dataclass(frozen=True, slots=True)
class Late:
    """A prompt that came to the predecessor after the snapshot (wall)."""

    text: str = field(repr=False)
    at_wall: float = 0.0


@dataclass(frozen=True, slots=True)
class OwedAddendum:
    """An addendum that was not written yet as the next handoff of the seat began; fields as a handoff has them."""

    id: str
    project: str
    predecessor: int
    rounds: int
    package: str
    previous_session: str
    session: str
    late: tuple[Late, ...] = ()
    later: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """The ack in which an answer of the successor's ended, or that stands in its file: what it quotes of its package.

    checked: the disk says that the package cannot be rested on, and it is being written again. by_file: it stands in
    handoff-ack.json.
    """

    package: str
    word: str = field(repr=False)
    facts: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    checked: bool = False
    by_file: bool = False


@dataclass(frozen=True, slots=True)
class Handoff:
    """One handoff of a seat, from its request to its end.

    predecessor: the generation that holds the seat; the successor is the next one. since, since_wall: when the present
    step began. deadline: when it is overdue; None while only an end of processes is waited for. held, held_at: why the
    deadline stands still, and since when. tries: successors that were made; made: the newest is there; base: the
    incarnation that its name had before. attempt: how often the present file work was ordered. degraded: what of it
    went otherwise than planned, as the package says. alone: the predecessor is down and stays so. said: whether it was
    told to finish. stays: an operator stopped the seat, so a rollback starts nothing. recalled: somebody ordered
    the rollback. again: once rolled back, it begins anew; rounds: for which time. why_back: why it is rolled back;
    remedy: the command without which the next one would be, too.
    called_off: the word to go on was told to the predecessor, or waits for it. lingers: the generation that is to go
    cannot be ended. escaped: Escape was pressed on the predecessor's turn. stale: why the project's files are not up to
    date in the package. package: the hash of the package on disk. word: the one-time word in it. facts: what else an
    ack has to quote, by name. opening: the successor's first prompt.
    previous_session, session: the ids by which the project's files know the two. acked: an ack was good; reminded: the
    successor was asked for it once more. share: how full it was then. letters: texts that were sent to the seat
    meanwhile. posted: the one that is being typed, into the run posted_run of posted_to. rollbacks: how many handoffs
    in a row, this one included, came to nothing. ended: when it was over. late: what was submitted to the predecessor
    after the snapshot, later: how much more than is kept. addendum: whether what came too late was asked for, or made.
    tokens: what a model took that worded the project's files, tries that came to nothing included.
    owed: the addenda of handoffs before this one that are not written yet. Few: the work on files of a handoff follows
    those in the same lane, so none gets past its fence before them.
    spaced_before: since when the spacing counted as it began. waits: the trigger of the next one, once people were told
    that it waits. refused: why the newest ack of its successor was no good. claim: its ack by last words or by a
    file, until it is believed, or refused and what is to be read again stands there. ack_file: the mark of the newest
    handoff-ack.json that was heard of; ack_files: how many were in this try.
    """

    id: str
    seat: str
    project: str
    predecessor: int
    trigger: Trigger
    why: str
    began_wall: float
    step: Step
    since: Instant
    since_wall: float
    by: str = "phoenixd"
    deadline: Instant | None = None
    held: str = ""
    held_at: Instant = 0.0
    tries: int = 0
    made: bool = False
    base: int = 0
    attempt: int = 0
    degraded: tuple[str, ...] = ()
    alone: bool = False
    said: Said = ""
    stays: bool = False
    recalled: bool = False
    again: bool = False
    rounds: int = 1
    why_back: str = ""
    remedy: str = ""
    called_off: bool = False
    lingers: bool = False
    escaped: bool = False
    stale: str = ""
    package: str = ""
    word: str = field(default="", repr=False)
    facts: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    opening: str = field(default="", repr=False)
    previous_session: str = ""
    session: str = ""
    acked: bool = False
    reminded: bool = False
    share: float | None = None
    letters: tuple[Letter, ...] = ()
    posted: Letter | None = None
    posted_to: str = ""
    posted_run: int = 0
    times: tuple[StepTime, ...] = ()
    rollbacks: int = 0
    ended: Instant = 0.0
    late: tuple[Late, ...] = ()
    later: int = 0
    addendum: Literal["", "asked", "made"] = ""
    owed: tuple[OwedAddendum, ...] = ()
    tokens: int = 0
    spaced_before: Instant | None = None
    waits: str = ""
    refused: str = ""
    claim: Claim | None = None
    ack_file: str = ""
    ack_files: int = 0

    @property
    def successor(self) -> int:
        """The generation that is to follow."""
        return self.predecessor + 1

    @property
    def is_over(self) -> bool:
        return self.step in OVER

    @property
    def is_back_by_order(self) -> bool:
        """Whether it is rolled back because somebody ordered that, or stopped the seat: no failure of anything."""
        return self.recalled or self.stays

    @property
    def spaced_from(self) -> Instant | None:
        """From when on the spacing counts to the next handoff that begins by itself.

        A handoff that an operator stopped, or began and called off, does not count. One that began by itself and was
        called off does: it must not begin again at once.
        """
        was_none = self.stays or (self.recalled and self.trigger == "operator")
        return self.spaced_before if self.step is Step.ROLLED_BACK and was_none else self.ended

    @property
    def known_session(self) -> str:
        """The id by which the project's files know the holder after this handoff; empty before a first one was done."""
        return self.session if self.step is Step.DONE else self.previous_session

    @property
    def is_before_fence(self) -> bool:
        return self.step in BEFORE_FENCE
