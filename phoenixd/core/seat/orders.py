"""What an order about a seat means for its other generations, and what the fleet keeps of seats. Parts of the table."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import requests
from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import Rebooted
from phoenixd.core.events.orders import AgentDeclared, AgentWithdrawn, StopRequested
from phoenixd.core.events.runs import AgentStarted, RunAdopted
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.handoff import letters
from phoenixd.core.moment import Moment
from phoenixd.core.seat import finding, lost
from phoenixd.core.seat.names import LONGEST
from phoenixd.core.seat.sessions import taking
from phoenixd.core.seat.state import Seat, as_declared, is_seated, project_of, seat_of
from phoenixd.core.seat.succession import release_held
from phoenixd.core.spec import Kind

NAME_TOO_LONG = "name too long for a handoff"
"""The alert of an orchestrator whose generations could have no names."""


def take_seat(before: Fleet, found: Step, event: AgentDeclared, now: Moment) -> Step:
    """An orchestrator that is declared has a seat; what is declared as another kind gives its own up."""
    spec, fleet = event.spec, found.fleet
    agent = fleet.agents.get(spec.name)
    if found.refusal is not None or agent is None:
        return found
    name = spec.seat or spec.name
    seat = fleet.seats.get(name)
    if spec.kind is Kind.ORCHESTRATOR and not is_seated(spec):
        return found if _is_told(agent) else put(found, _too_long(agent), now)
    if not spec.seat:
        if seat is None:
            return found
        left = {other: one for other, one in fleet.seats.items() if other != name}
        return replace(found, fleet=replace(fleet, seats=left))
    kept = replace(seat, project=project_of(spec)) if seat is not None else seat_of(spec)
    if kept == seat:
        return found
    return replace(found, fleet=replace(fleet, seats={**fleet.seats, name: kept}))


def end_others(before: Fleet, found: Step, event: StopRequested | AgentWithdrawn, now: Moment) -> Step:
    """A seat that is stopped or removed is so with every generation of it: nothing of it runs or starts (promise 3)."""
    agent = before.agents.get(event.agent)
    seat = before.seats.get(agent.spec.seat) if agent is not None and agent.spec.seat else None
    if seat is None or found.refusal is not None:
        return found
    found = _forget_held(found, seat.name)
    for other in finding.others(before, seat):
        if finding.is_left_over(other):
            done = "stopped" if isinstance(event, StopRequested) else "removed"
            found = lost.ended(found, other, f"its seat was {done} by {event.by}", now)
        elif isinstance(event, StopRequested):
            order = StopRequested(other.name, event.by)
            found = put(found, requests.stop(other, order, now), now)
        else:
            seen = Seen(other, Decision(other))
            found = put(found, requests.withdraw(other, AgentWithdrawn(other.name), seen, now), now)
    return found


def after_reboot(before: Fleet, found: Step, event: Rebooted, now: Moment) -> Step:
    """Of each seat the holder alone is started again; what becomes of a successor its handoff says."""
    for seat in found.fleet.seats.values():
        for other in finding.others(found.fleet, seat):
            order = StopRequested(other.name, by="the reboot: the holder of the seat alone goes on")
            found = put(found, requests.stop(other, order, now), now)
    return found


def name_session(before: Fleet, found: Step, event: AgentStarted | RunAdopted, now: Moment) -> Step:
    """A holder of a later generation runs: its session is to bear the seat's name, whatever was done about it."""
    agent = found.fleet.roster.living(event.agent, event.incarnation)
    if agent is None or agent.spec.generation <= 1:
        return found
    seat = found.fleet.seats.get(agent.spec.seat)
    if seat is None or seat.generation != agent.spec.generation:
        return found
    return put(
        found, Decision(agent, (taking(agent),), "its terminal bears the name of its seat", weight="detail"), now
    )


def do_held(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Do what waited for the end of a handoff, where a seat has one generation again."""
    for seat in tuple(found.fleet.seats.values()):
        is_held = seat.declared is not None or seat.restart is not None
        if is_held and not finding.is_passing(found.fleet, seat):
            found = release_held(found, seat, now)
        holder = found.fleet.agents.get(seat.holder)
        if holder is not None and holder.spec.kind is not Kind.ORCHESTRATOR:
            found = _given_up(found, found.fleet.seats[seat.name], holder, now)
    return found


def _given_up(found: Step, seat: Seat, holder: Agent, now: Moment) -> Step:
    """What was declared as another kind during a handoff gives its seat up once every text that was sent arrived."""
    if not finding.is_plain(found.fleet, seat) or (seat.handoff is not None and letters.texts(seat.handoff)):
        return found
    left = {name: one for name, one in found.fleet.seats.items() if name != seat.name}
    plain = replace(holder, spec=as_declared(holder.spec))
    told = Decision(plain, reason="it is no orchestrator any more, and gives its seat up", weight="detail")
    return put(replace(found, fleet=replace(found.fleet, seats=left)), told, now)


def _forget_held(found: Step, name: str) -> Step:
    """A restart that waited is not wanted any more; a specification that waits still is."""
    seat = found.fleet.seats.get(name)
    if seat is None or seat.restart is None:
        return found
    return replace(found, fleet=replace(found.fleet, seats={**found.fleet.seats, name: replace(seat, restart=None)}))


def _is_told(agent: Agent) -> bool:
    return any(one.kind == NAME_TOO_LONG for one in agent.alerts)


def _too_long(agent: Agent) -> Decision:
    text = (
        f"its name has {len(agent.name)} characters, and an orchestrator that is to be handed over has one of at most "
        f"{LONGEST}: it runs on, and is never handed over. Declare it under a shorter name"
    )
    return Decision(agent, (Alert(agent.name, NAME_TOO_LONG, text),), text)
