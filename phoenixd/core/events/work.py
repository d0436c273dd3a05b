"""How an agent's work looks."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.core.work import Deed, Survey


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


WorkEvent = WorkMeasured | FileLooked | MeasurementLost
