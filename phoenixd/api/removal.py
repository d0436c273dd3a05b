"""What is said of an agent that was removed: when, by whom, where its story is, and how it comes back."""

from __future__ import annotations

from phoenixd.api.times import ago
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import Moment
from phoenixd.core.seat.finding import meant, was_removed
from phoenixd.core.undo import age, hindrance
from phoenixd.core.undo.state import Undoable


def sentence(fleet: Fleet, name: str, now: Moment) -> tuple[str, str] | None:
    """A sentence and a command below the events of an agent; both empty of a generation, None of one that is there."""
    if meant(fleet, name) is not None:
        return None
    if not was_removed(fleet, name):
        return "", ""
    act = _act(fleet, name, now)
    told = _told(name, act, now)
    return (f"{told}. Bring it back:", f"phoenixctl undo {name}") if _can_return(fleet, act) else (f"{told}.", "")


def of(fleet: Fleet, name: str, now: Moment) -> tuple[str, str]:
    """Of one that was removed: why nothing more is told of it, and what brings it back.

    No act is remembered of a removal by `apply`, nor of one a week ago: that one has to be declared anew.
    """
    act, events = _act(fleet, name, now), f"phoenixctl events {name} --all"
    why = f"{_told(name, act, now)}; what was decided about it stands in the journal"
    if _can_return(fleet, act):
        return f"{why}: {events}", f"phoenixctl undo {name}"
    if act is not None:
        return why, events
    return f"{why}: {events}", anew(name)


def anew(name: str) -> str:
    """How an agent is declared again that no undo brings back."""
    return f"put [agent.{name}] back into its file, then: phoenixctl apply; or phoenixctl add {name} -- COMMAND"


def _act(fleet: Fleet, name: str, now: Moment) -> Undoable | None:
    """The removal, where it is remembered."""
    acts = age.kept(fleet.undoable, now)
    return next((one for one in reversed(acts) if (one.agent, one.verb) == (name, "remove")), None)


def _can_return(fleet: Fleet, act: Undoable | None) -> bool:
    return act is not None and not hindrance.ahead(fleet, act)


def _told(name: str, act: Undoable | None, now: Moment) -> str:
    if act is None:
        return f"{name} was removed by a change of the configuration or over 7 days ago"
    return f"{name} was removed {ago(now.wall - act.at_wall)} ago by {act.by}"
