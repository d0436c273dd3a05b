"""How the parts of an agent that have a dataclass of their own meet: what each sees of the others, and tells them.

A part is `hear(part, event, seen, now)`: it gets its own dataclass, the event, and a frozen view of the rest, and says
what its dataclass is now, what to do, and why (`decision.Heard`). What concerns another part is a signal, and goes
only to those that stand later in the row; tests/core/test_hearing.py holds that.
"""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.core.spec import AgentSpec


@dataclass(frozen=True, slots=True)
class View:
    """What a part sees of the rest of its agent. state: the process's. asks: the kind of question it waits with."""

    spec: AgentSpec
    incarnation: int
    state: str
    turn_open: bool = False
    asks: str = ""
    is_news: bool = True
    """The event is no hook that was heard before."""


@dataclass(frozen=True, slots=True)
class WaitBegan:
    """Limits: from now on nothing is asked of the agent, or for longer."""

    note: str


@dataclass(frozen=True, slots=True)
class WaitOver:
    """Limits: the agent goes on. waited: seconds, which were nobody's silence.

    works: it is at work again. told: it was we who told it to go on. settled: so it is known that it can go on.
    """

    note: str
    waited: float
    works: bool = False
    told: bool = False
    settled: bool = False


@dataclass(frozen=True, slots=True)
class CannotGoOn:
    """Limits: a person has to look why the agent cannot be told to go on."""

    text: str


@dataclass(frozen=True, slots=True)
class Taken:
    """Limits: the event is what it had asked for, and has judged; to the others it means nothing."""


Signal = WaitBegan | WaitOver | CannotGoOn | Taken
