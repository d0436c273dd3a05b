"""The nouns of one iteration of a loop: one frozen dataclass for each of its phases.

    opening -> underway [ -> passing ] -> closing -> judged, and none

`opening` and `closing` wait for the work to be measured, and nothing of the loop starts meanwhile. `passing` is that of
a sequence: its other members have their turns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from phoenixd.core.breaker import Signals
from phoenixd.core.moment import Instant
from phoenixd.core.work import Survey


@dataclass(frozen=True, slots=True)
class Opening:
    """The work is being measured before the first run. number: of the incarnation to come. asked: how often."""

    number: int
    due: Instant
    asked: int = 1
    name: Literal["opening"] = "opening"


@dataclass(frozen=True, slots=True)
class Underway:
    """About to run, running, or to be run once more after an end that was not its fault. before: None if unknown.

    done: why the agent has nothing left to do, as far as it has said so. survey: the rest of what was seen before it.
    """

    number: int
    before: str | None
    note: str = ""
    signals: Signals = Signals()  # noqa: RUF009 - frozen
    done: str = ""
    survey: Survey | None = None
    name: Literal["underway"] = "underway"


@dataclass(frozen=True, slots=True)
class Passing:
    """The other members of a sequence have their turns. turn: whose, as an index of the sequence.

    awaits: what is under way of that turn: nothing yet, a look for a file, the agent that answers for a condition, or
    the member itself. due: when the look for a file is given up. since: the awaited agent's incarnation before that,
    and -1 until it has been told to start. heard: what the run of this turn has said so far.
    """

    number: int
    before: str | None
    signals: Signals
    done: str
    note: str = ""
    turn: int = 0
    awaits: Literal["nothing", "file", "condition", "member"] = "nothing"
    due: Instant | None = None
    since: int = -1
    asked: int = 1
    heard: Signals = Signals()  # noqa: RUF009 - frozen
    survey: Survey | None = None
    name: Literal["passing"] = "passing"


@dataclass(frozen=True, slots=True)
class Closing:
    """The work is being measured after the last run; then the iteration is judged."""

    number: int
    before: str | None
    signals: Signals
    done: str
    due: Instant
    note: str = ""
    asked: int = 1
    survey: Survey | None = None
    name: Literal["closing"] = "closing"


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a resident that is judged as if it were an iteration. number: counts the agent's turns.

    opening: the work is being measured. underway: it goes on. closing: the work is being measured once more.
    person: somebody asked for it, so it never counts against the agent.
    """

    number: int
    person: bool
    phase: Literal["opening", "underway", "closing"] = "opening"
    before: str | None = None
    note: str = ""
    signals: Signals = Signals()  # noqa: RUF009 - frozen
    survey: Survey | None = None


@dataclass(frozen=True, slots=True)
class Recycled:
    """What is known of an agent's runs that asked to be recycled; each is judged as if it were an iteration.

    before, survey: how the work was when the newest of them began; None where that is not known. opening, weighing: the
    incarnation at whose begin or end the work is being measured, 0 for none. due: when the next run may begin once that
    is done. excuse: why the run that is measured may have changed nothing. asked: somebody asked for something
    meanwhile. judged_wall: when the newest was judged.
    """

    before: str | None = None
    survey: Survey | None = None
    opening: int = 0
    weighing: int = 0
    due: Instant = 0.0
    excuse: str = ""
    asked: bool = False
    judged_wall: float = 0.0


Iteration = Opening | Underway | Passing | Closing
