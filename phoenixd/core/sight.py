"""What is seen of a run beside what decisions rest on: its tool, its last words, its branch, its price.

Volatile: a daemon that returns begins with nothing of it, no decision reads it, and no row of the journal holds it.
Texts have no secrets and stand on one line. Times are wall seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

TOOL_LIMIT = 80
ARGUMENT_LIMIT = 120
SAID_LIMIT = 300
TASK_LIMIT = 300


@dataclass(frozen=True, slots=True)
class Doing:
    """The tool call that is open on the main thread: what it is given, and since when."""

    tool: str
    argument: str
    since_wall: float


@dataclass(frozen=True, slots=True)
class Words:
    """What an agent said last. at_wall: when; None where its CLI does not write that down."""

    text: str
    at_wall: float | None


@dataclass(frozen=True, slots=True)
class Cost:
    """What a session has cost, as its CLI reports it, and never computed. tokens: those that this was paid for."""

    usd: float
    tokens: int | None
    source: str
    at_wall: float


@dataclass(frozen=True, slots=True)
class Attached:
    """Who looks at an agent's terminal. writers: those of the clients that may write there."""

    clients: int
    writers: int
    at_wall: float


@dataclass(frozen=True, slots=True)
class Sight:
    """All that is seen of one agent; None is unknown. incarnation: the run that all but the goal is about.

    model: of this run, else the one whose window the journal knows. opened: the journal's row that opened the present
    state. goal, task: as they are shown. has_calls: the run's tool calls are followed, so that no open call means that
    none is open.
    """

    incarnation: int = 0
    doing: Doing | None = None
    said: Words | None = None
    model: str | None = None
    branch: str | None = None
    cost: Cost | None = None
    attached: Attached | None = None
    opened: int | None = None
    goal: str | None = None
    task: str | None = None
    has_calls: bool = False


NOTHING = Sight()
