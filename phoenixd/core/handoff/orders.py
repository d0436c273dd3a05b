"""What the steps of a handoff order of the fleet. Each order is a pure function: the fleet before, the fleet after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from phoenixd.core import requests
from phoenixd.core.actions import CheckPackage, InterruptTurn, UpdatePapers, WritePackage
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Afterwards, BackingOff, Parked, Running, Starting, Stopped
from phoenixd.core.decision import Decision
from phoenixd.core.events.orders import StartRequested
from phoenixd.core.fleet import Step as Found
from phoenixd.core.fleet import put
from phoenixd.core.handoff import freezing, letters
from phoenixd.core.handoff.move import Order
from phoenixd.core.handoff.state import Handoff
from phoenixd.core.moment import Moment
from phoenixd.core.seat import succession
from phoenixd.core.seat.names import generation_name
from phoenixd.core.transitions import end_run, enter

Doing = Callable[[Found, Handoff, Moment], Found]

OF_FILES = {UpdatePapers: "its project's files", WritePackage: "the package", CheckPackage: "a look at the package"}


def carry_out(found: Found, handoff: Handoff, order: Order, now: Moment) -> Found:
    """The fleet after one order of a handoff, whose value stands in its seat already."""
    return DOINGS[order](found, handoff, now)


def old_of(found: Found, handoff: Handoff) -> Agent | None:
    """The predecessor, where it exists."""
    return _of_seat(found, handoff.seat, handoff.predecessor)


def new_of(found: Found, handoff: Handoff) -> Agent | None:
    """The successor, where it exists."""
    return _of_seat(found, handoff.seat, handoff.successor)


def _of_seat(found: Found, seat: str, generation: int) -> Agent | None:
    """An agent from before such names were reserved may bear the name of a generation, and is none."""
    agent: Agent | None = found.fleet.agents.get(generation_name(seat, generation))
    return agent if agent is not None and agent.spec.seat == seat else None


def _freeze(found: Found, handoff: Handoff, now: Moment) -> Found:
    return _of_the_old(found, handoff, freezing.freeze, now)


def _silence(found: Found, handoff: Handoff, now: Moment) -> Found:
    return _of_the_old(found, handoff, freezing.silence, now)


def _renew(found: Found, handoff: Handoff, now: Moment) -> Found:
    return _of_the_old(found, handoff, freezing.renew, now)


def _unfreeze(found: Found, handoff: Handoff, now: Moment) -> Found:
    """Give the predecessor its tools back, and the word to go on: also where it is down, once it runs again."""
    found = _of_the_old(found, handoff, freezing.unfreeze, now)
    old = old_of(found, handoff)
    if old is None or handoff.again or handoff.said not in ("armed", "sending", "sent"):
        return found
    return letters.owe(found, found.fleet.seats[handoff.seat], letters.called_off(handoff), now)


def _of_the_old(
    found: Found, handoff: Handoff, rule: Callable[[Agent, Handoff, Moment], Decision], now: Moment
) -> Found:
    old = old_of(found, handoff)
    return put(found, rule(old, handoff, now), now) if old is not None else found


def _leave(found: Found, handoff: Handoff, now: Moment) -> Found:
    """It stays wanted, so that a rollback starts it again; nothing else does."""
    old = old_of(found, handoff)
    if old is None or not isinstance(old.state, BackingOff | Parked):
        return found
    return put(found, enter(old, Stopped(), f"{old.reason}; its handoff goes on without it", now), now)


def _escape(found: Found, handoff: Handoff, now: Moment) -> Found:
    old = old_of(found, handoff)
    if old is None or not isinstance(old.state, Running):
        return found
    press = InterruptTurn(old.name, old.incarnation)
    return put(found, Decision(old, (press,), "Escape is to end its turn", weight="detail"), now)


def _cut(found: Found, handoff: Handoff, now: Moment) -> Found:
    old = old_of(found, handoff)
    if old is None or not isinstance(old.state, Starting | Running):
        return found
    return put(found, end_run(old, Afterwards.STAY, "its handoff cannot wait any longer", now), now)


def _update(found: Found, handoff: Handoff, now: Moment) -> Found:
    return _with_action(found, handoff, UpdatePapers(handoff.seat, handoff.id, handoff.attempt), now)


def _write(found: Found, handoff: Handoff, now: Moment) -> Found:
    return _with_action(found, handoff, WritePackage(handoff.seat, handoff.id, handoff.attempt), now)


def _check(found: Found, handoff: Handoff, now: Moment) -> Found:
    claim = handoff.claim
    if claim is None:
        return found
    return _with_action(found, handoff, CheckPackage(handoff.seat, handoff.id, claim.package), now)


def _with_action(
    found: Found, handoff: Handoff, action: UpdatePapers | WritePackage | CheckPackage, now: Moment
) -> Found:
    agent = old_of(found, handoff)
    if agent is None:
        return found
    what = OF_FILES[type(action)]
    return put(found, Decision(agent, (action,), f"handoff {handoff.id}: ordered, {what}", weight="detail"), now)


def _make(found: Found, handoff: Handoff, now: Moment) -> Found:
    fleet, decisions = succession.declare_successor(found.fleet, handoff.seat, now)
    found = replace(found, fleet=fleet, decisions=(*found.decisions, *decisions))
    new = new_of(found, handoff)
    assert new is not None
    found = _noting(found, handoff, base=new.incarnation)
    told = replace(new, spec=replace(new.spec, opening=handoff.opening))
    return put(found, requests.start(told, StartRequested(new.name, by=f"handoff {handoff.id}"), now), now)


def _dismiss(found: Found, handoff: Handoff, now: Moment) -> Found:
    return _gone(found, handoff, handoff.successor, now)


def _remind(found: Found, handoff: Handoff, now: Moment) -> Found:
    new = new_of(found, handoff)
    return put(found, freezing.remind(new, handoff, now), now) if new is not None else found


def _retire(found: Found, handoff: Handoff, now: Moment) -> Found:
    return _gone(found, handoff, handoff.predecessor, now)


def _gone(found: Found, handoff: Handoff, generation: int, now: Moment) -> Found:
    fleet, decisions = succession.retire(found.fleet, handoff.seat, generation, now)
    return replace(found, fleet=fleet, decisions=(*found.decisions, *decisions))


def _pass(found: Found, handoff: Handoff, now: Moment) -> Found:
    old = old_of(found, handoff)
    fleet, decisions = succession.succeed(found.fleet, handoff.seat, now)
    found = replace(found, fleet=fleet, decisions=(*found.decisions, *decisions))
    return letters.hand_on(found, fleet.seats[handoff.seat], old) if old is not None else found


def _resume(found: Found, handoff: Handoff, now: Moment) -> Found:
    old = old_of(found, handoff)
    if old is None or not isinstance(old.state, Stopped):
        return found
    return put(found, requests.queue(old, f"handoff {handoff.id} was rolled back", now), now)


def _noting(found: Found, handoff: Handoff, *, base: int) -> Found:
    seat = found.fleet.seats[handoff.seat]
    noted = replace(seat, handoff=replace(handoff, base=base))
    return replace(found, fleet=replace(found.fleet, seats={**found.fleet.seats, seat.name: noted}))


DOINGS: dict[Order, Doing] = {
    "freeze": _freeze,
    "silence": _silence,
    "renew": _renew,
    "unfreeze": _unfreeze,
    "leave": _leave,
    "escape": _escape,
    "cut": _cut,
    "update": _update,
    "write": _write,
    "check": _check,
    "make": _make,
    "dismiss": _dismiss,
    "remind": _remind,
    "pass": _pass,
    "retire": _retire,
    "resume": _resume,
}
