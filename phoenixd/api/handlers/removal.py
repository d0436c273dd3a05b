"""What is said of an agent that was removed: when, by whom, where its story is, and whether it can come back."""

from __future__ import annotations

from phoenixd.api.exchange import Ask
from phoenixd.api.problems import Problem
from phoenixd.api.times import ago
from phoenixd.core.seat.finding import meant, was_removed
from phoenixd.core.undo import age, hindrance
from phoenixd.core.undo.state import Undoable


def sentence(ask: Ask, name: str) -> tuple[str, str] | None:
    """A sentence and a command below the events of an agent; both empty of a generation, None of one that is there."""
    fleet = ask.service.fleet()
    if meant(fleet, name) is not None:
        return None
    if not was_removed(fleet, name):
        return "", ""
    act = _act(ask, name)
    told = _told(ask, name, act)
    return (f"{told}. Bring it back:", f"phoenixctl undo {name}") if _can_return(ask, act) else (f"{told}.", "")


def problem(ask: Ask, name: str) -> Problem:
    """Why nothing more is told of an agent that was removed."""
    act, events = _act(ask, name), f"phoenixctl events {name} --all"
    why = f"{_told(ask, name, act)}; what was decided about it stands in the journal"
    if _can_return(ask, act):
        return Problem("not_found", f"{why}: {events}", f"phoenixctl undo {name}")
    return Problem("not_found", why, events)


def _act(ask: Ask, name: str) -> Undoable | None:
    """The removal, where it is remembered."""
    acts = age.kept(ask.service.fleet().undoable, ask.service.now())
    return next((one for one in reversed(acts) if (one.agent, one.verb) == (name, "remove")), None)


def _can_return(ask: Ask, act: Undoable | None) -> bool:
    return act is not None and not hindrance.ahead(ask.service.fleet(), act)


def _told(ask: Ask, name: str, act: Undoable | None) -> str:
    if act is None:
        return f"{name} was removed"
    return f"{name} was removed {ago(ask.service.now().wall - act.at_wall)} ago by {act.by}"
