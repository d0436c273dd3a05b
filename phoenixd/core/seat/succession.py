"""How a seat passes on: a successor is declared, the fence makes it the holder, a generation that does not hold goes.

Pure functions, for the rule that leads a handoff. Each returns the fleet and what was decided, in order.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import requests
from phoenixd.core.actions import Release
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Afterwards, Desired, Running, Starting, Stopping
from phoenixd.core.behind.plan import settled
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.declarations import declared
from phoenixd.core.events.orders import RestartRequested
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.limits import groups
from phoenixd.core.moment import Moment
from phoenixd.core.recycling import rules as recycling
from phoenixd.core.rules import RestartPolicy
from phoenixd.core.seat import finding
from phoenixd.core.seat.names import generation_name
from phoenixd.core.seat.sessions import taking
from phoenixd.core.seat.state import Seat, as_generation, project_of
from phoenixd.core.spec import AgentSpec
from phoenixd.core.transitions import end_run

Passed = tuple[Fleet, tuple[Decision, ...]]


def declare_successor(fleet: Fleet, name: str, now: Moment) -> Passed:
    """Declare the next generation with the holder's specification. It is down, and no verb reaches it.

    Until it holds the seat it is started by nothing but its handoff, and after a death it stays down. Raises KeyError
    where there is no such seat, ValueError where a successor is there already, or still being removed, where another
    agent bears its name, or the seat is being removed itself.
    """
    seat = _seat(fleet, name)
    if finding.successor(fleet, seat) is not None:
        raise ValueError(f"{seat.name} has a successor already")
    holder, generation = finding.holder(fleet, name), seat.generation + 1
    if holder.removing:
        raise ValueError(f"{seat.name} is being removed")
    if generation_name(seat.name, generation) in fleet.agents:
        raise ValueError(f"an agent is called {generation_name(seat.name, generation)}")
    spec = as_generation(holder.spec, seat, generation)
    spec = kept_down(spec)
    agent = declared(spec, now, fleet.retired.get(spec.name, 0))
    reason = f"declared as generation {generation} of {seat.name}; generation {seat.generation} holds the seat"
    return _passed(put(Step(fleet), Decision(replace(agent, reason=reason), reason=reason), now))


def succeed(fleet: Fleet, name: str, now: Moment) -> Passed:
    """The fence: the successor holds the seat from now on, and nothing of the generation before counts any more.

    The predecessor is not wanted any more, so that nothing starts it again; `retire` ends it. Raises KeyError where
    there is no such seat, ValueError where it has no successor.
    """
    seat = _seat(fleet, name)
    before, after = finding.holder(fleet, name), finding.successor(fleet, seat)
    if after is None or after.removing:
        raise ValueError(f"{seat.name} has no successor")
    passed = replace(seat, generation=seat.generation + 1, fenced=seat.generation)
    found = Step(replace(fleet, seats={**fleet.seats, seat.name: passed}))
    reason = f"fenced: generation {passed.generation} holds the seat {seat.name} from now on"
    found = put(found, Decision(replace(before, desired=Desired.STOPPED), reason=reason, weight="story"), now)
    spec = as_generation(before.spec, passed, passed.generation)
    # Sessions that fill in their first turn are counted over generations, or one would follow another for ever.
    in_a_row = max(before.dead_ends, after.dead_ends)
    holder = replace(after, spec=spec, desired=before.desired, dead_ends=in_a_row)
    holder, measures = recycling.passed_on(before, holder)
    why = f"it holds the seat {seat.name} from now on, as generation {passed.generation}"
    return _passed(put(found, Decision(holder, (taking(holder), *measures), why, weight="story"), now))


def retire(fleet: Fleet, name: str, generation: int, now: Moment, why: str = "") -> Passed:
    """End a generation that does not hold the seat, and remove it: a predecessor that is fenced, or a failed successor.

    Nothing follows for one that is not there any more. Raises KeyError where there is no such seat, ValueError for the
    holder.
    """
    seat = _seat(fleet, name)
    if generation == seat.generation:
        raise ValueError(f"generation {generation} holds the seat {seat.name}")
    agent: Agent | None = fleet.agents.get(generation_name(seat.name, generation))
    if agent is None or agent.spec.seat != seat.name:
        return fleet, ()
    told = why or ("it was succeeded" if generation < seat.generation else "it does not succeed")
    return _passed(put(Step(fleet), leaving(agent, f"generation {generation} of {seat.name} ends: {told}", now), now))


def release_held(found: Step, seat: Seat, now: Moment) -> Step:
    """Do what waited until the seat had one generation again."""
    holder = found.fleet.agents.get(seat.holder)
    project = seat.project if seat.declared is None else project_of(seat.declared)
    done = replace(seat, project=project, declared=None, restart=None)
    found = replace(found, fleet=replace(found.fleet, seats={**found.fleet.seats, seat.name: done}))
    if holder is None:
        return found
    if seat.declared is not None:
        spec = as_generation(seat.declared, seat, seat.generation)
        found = put(found, groups.moved(requests.redeclare(holder, spec, now), now), now)
    if seat.restart is not None:
        holder = found.fleet.agents[seat.holder]
        order = RestartRequested(seat.holder, seat.restart.fresh, seat.restart.by)
        found = put(found, requests.hear_restart(holder, order, Seen(holder, Decision(holder)), now), now)
    return found


def kept_down(spec: AgentSpec) -> AgentSpec:
    """The specification of a generation that nothing but its handoff starts, and that stays down after a death."""
    return replace(spec, autostart=False, restart=replace(spec.restart, policy=RestartPolicy.NEVER))


def leaving(agent: Agent, why: str, now: Moment) -> Decision:
    """A generation ends, and is removed once nothing of it is left."""
    going = replace(settled(agent), desired=Desired.STOPPED, removing=True)
    match agent.state:
        case Starting() | Running():
            return end_run(going, Afterwards.REMOVE, why, now)
        case Stopping() as state:
            return Decision(replace(going, state=replace(state, then=Afterwards.REMOVE)), reason=why)
        case _:
            return Decision(going, (Release(agent.name),), why, removed=True)


def _seat(fleet: Fleet, name: str) -> Seat:
    seat = finding.of(fleet, name)
    if seat is None:
        raise KeyError(name)
    return seat


def _passed(found: Step) -> Passed:
    return found.fleet, found.decisions
