"""How the parts of an agent that have a dataclass of their own meet: what each sees of the others, and tells them.

A part is `hear(part, event, seen, now)`: it gets its own dataclass, the event, and a frozen view of the rest, and says
what its dataclass is now, what to do, and why (`decision.Heard`). What concerns another part is a signal, and goes
only to those that stand later in the row; tests/core/test_hearing.py holds that.
"""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.core.hooks import Hook, SessionStarted
from phoenixd.core.moment import Instant
from phoenixd.core.spec import AgentSpec


@dataclass(frozen=True, slots=True)
class View:
    """What a part sees of the rest of its agent. state: the process's. asks: the kind of question it waits with.

    session_id: that of the run, once a hook has told of it. began, up_since: when it was ordered, and since when its
    program is up. deaf_since: since when the link to its shim is lost.
    """

    spec: AgentSpec
    incarnation: int
    state: str
    turn_open: bool = False
    asks: str = ""
    is_news: bool = True
    """The event is no hook that was heard before."""
    hooks_seen: bool = False
    is_parked: bool = False
    session_id: str = ""
    prompt_seen: bool = False
    began: Instant = 0.0
    up_since: Instant = 0.0
    deaf_since: Instant | None = None
    is_guessed: bool = False
    """Nothing has told yet whether a turn of its run is open."""

    def is_foreign(self, event: Hook) -> bool:
        """Whether a hook of the main thread names another session than the run's."""
        is_known = bool(self.session_id) and not event.sub and self.spec.has_hooks
        return is_known and event.session_id is not None and event.session_id != self.session_id

    def begins_beside(self, event: Hook) -> bool:
        """Whether a session starts up although the run's own has not ended: the CLI began another one, or moved it.

        Which of them goes on, the next prompt tells; until then a resume goes back to the one that is known.
        """
        return isinstance(event, SessionStarted) and event.beginning == "startup" and self.is_foreign(event)


@dataclass(frozen=True, slots=True)
class WaitBegan:
    """Limits: from now on nothing is asked of the agent, or for longer."""

    note: str


@dataclass(frozen=True, slots=True)
class WaitOver:
    """Limits: the agent goes on. waited: seconds, which count as no silence.

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
    """Limits: it asked for this event, and has judged it; to the other parts the event means nothing."""


@dataclass(frozen=True, slots=True)
class SignOfLife:
    """Turn: a heartbeat or a growing transcript is evidence. odd: what its time says of its writer's clock."""

    odd: str = ""


Signal = WaitBegan | WaitOver | CannotGoOn | Taken | SignOfLife
