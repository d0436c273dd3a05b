"""What is known of an agent's resonance: codes, checks, and the restoration of one whose context was lost.

Nothing here imports the agent, which holds it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from phoenixd.core.moment import Instant
from phoenixd.planting import Planting, Verdict

Why = Literal["start", "restoration", "clear", "spent", "degraded", "missing"]
"""Why codes are planted. start: a new session. restoration: the session after a loss. clear: a person emptied the
context. spent: no code is left that proves anything. degraded: a compaction dropped them. missing: there are none."""

WITH_THE_SESSION: frozenset[Why] = frozenset({"start", "restoration"})
"""Codes that the session begins with; of others the agent is told at a turn's end."""

ANCHOR = -1
"""In place of a code's number: the codes are told, and none is asked for."""


class Step(StrEnum):
    """How far a restoration has come: the seed's seven steps."""

    LOG = "log"
    SEED = "seed"
    SESSION = "session"
    INJECT = "inject"
    VERIFY = "verify"
    RESUME = "resume"
    ESCALATE = "escalate"


STEPS: tuple[Step, ...] = tuple(Step)
"""In their order; the last two are alternatives, and a restoration is over with either."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """What stands ready for the end of a turn of that run, or is being answered.

    id: of the armed answer. number: of the code that is asked for, or ANCHOR. spares: a turn that ends with a question
    is left alone. kept: the shim held up a turn's end while it stood; kept_wall: when; words: the agent's last words
    then, which belong to its work. calls: tools that were called in the exchange. shown: the code was seen elsewhere
    meanwhile. disturbed: somebody else's prompt came in between.
    """

    id: str
    number: int
    incarnation: int
    spares: bool = True
    kept: bool = False
    kept_wall: float = 0.0
    words: str = field(default="", repr=False)
    calls: tuple[str, ...] = ()
    shown: bool = False
    disturbed: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """The newest code that was asked for and answered well. Wall times."""

    code: str = field(repr=False)
    asked_wall: float = 0.0
    judged_wall: float = 0.0


@dataclass(frozen=True, slots=True)
class Restoration:
    """One restoration. base: the incarnation whose context was lost. deadline: when the present step is overdue.

    read: the seed was read; rebuilt: why it had to be made of state and brief; seed: what it says, in short.
    by: who ordered it; empty: a loss that was found.
    checkpoint: of when the seed is, on the wall clock: the last good state, from which the new session goes on (R50).
    opened: how many turns were opened for the check of the new session. message: the words that open the newest one.
    waited: how often a person's own words were in the way of them. tells: it was told that an open turn holds it up.
    """

    step: Step
    why: str
    began_wall: float
    since: Instant
    base: int
    deadline: Instant | None = None
    read: bool = False
    rebuilt: str = ""
    seed: str = field(default="", repr=False)
    opened: int = 0
    message: str = ""
    waited: int = 0
    tells: bool = False
    checkpoint: float | None = None
    by: str = ""

    @property
    def is_over(self) -> bool:
        return self.step in (Step.RESUME, Step.ESCALATE)


@dataclass(frozen=True, slots=True)
class Resonance:
    """What is known of one agent.

    planting: the newest codes. told: they were given to the session. proven: and it was seen to have them, so that not
    to know them is a miss. persona, project: as the anchor has them. ordered: why codes were ordered that have not come
    yet. state: of the newest check. last_verified_wall: of the newest success; asked_wall: of the newest question.
    turns: that ended since the last check. due: why one is due before the interval is over. deferred: turns that were
    left alone since it is due. misses: in a row. compacted: the CLI has shortened the context since the last success;
    degraded: how often that cost the codes. note: why no check can be made. footer: role and state of the newest one.
    restored: when restorations began within the last hour. lost: why it was given up, or is to be handed over.
    """

    planting: Planting | None = field(default=None, repr=False)
    told: bool = False
    proven: bool = False
    persona: str = ""
    project: str = ""
    ordered: Why | None = None
    state: Verdict = "not_applicable"
    last_verified_wall: float | None = None
    asked_wall: float | None = None
    turns: int = 0
    due: str = ""
    deferred: int = 0
    misses: int = 0
    compacted: bool = False
    degraded: int = 0
    challenge: Challenge | None = None
    asked: Asked | None = None
    note: str = ""
    footer: tuple[str, str] = ("", "")
    restoration: Restoration | None = None
    restored: tuple[Instant, ...] = ()
    lost: str = ""

    @property
    def is_restoring(self) -> bool:
        return self.restoration is not None and not self.restoration.is_over

    @property
    def is_asked(self) -> bool:
        """Whether codes are asked for: a lost session is asked no more, and the session in its place is (R40)."""
        if self.restoration is None or self.restoration.is_over:
            return not self.lost
        return self.restoration.step is Step.VERIFY and not self.lost

    @property
    def step(self) -> int:
        """The step of the restoration that goes on, from 1 to 7; 0 where none does."""
        if self.restoration is None or self.restoration.is_over:
            return 0
        return STEPS.index(self.restoration.step) + 1
