"""The door of the core: whom an operator's event is about. Behind it no rule knows that a seat has generations."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from phoenixd.core.agent import Agent
from phoenixd.core.decision import Decision, Refusal
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import WatchEvent
from phoenixd.core.events.orders import AgentDeclared, AnswerRequested, OperatorEvent, RestartRequested
from phoenixd.core.fleet import Fleet, Step, answer
from phoenixd.core.moment import Moment
from phoenixd.core.seat import finding
from phoenixd.core.seat.names import refusal_of_length, refusal_of_name
from phoenixd.core.seat.state import HeldRestart, Seat, as_generation, is_seated, project_of, seat_of
from phoenixd.core.spec import AgentSpec, Kind

ADDRESSED: frozenset[type] = frozenset((*get_args(OperatorEvent), *get_args(WatchEvent)))
"""Events that name an agent as people do. All others are of a run, and name that run's own generation."""


def addressed(before: Fleet, event: Event, now: Moment) -> Event | Step:
    """The event about the generation that is meant; a Step where it is refused, or waits for the end of a handoff."""
    if isinstance(event, AgentDeclared):
        return _declared(before, event, now)
    assert isinstance(event, OperatorEvent | WatchEvent)
    name = event.agent
    seat = finding.of(before, name) if name is not None else None
    if name is None or seat is None:
        return event
    meant = _asker(before, seat, event) if isinstance(event, AnswerRequested) else before.agents.get(seat.holder)
    named = finding.meant(before, name)
    if meant is None or named is None or (isinstance(event, WatchEvent) and name != seat.name):
        return event
    if named is not meant and name != seat.name:
        return _refused(before, named, _no_order(seat, named), now)
    if isinstance(event, RestartRequested) and _waits(before, seat, meant):
        return _held(before, replace(seat, restart=HeldRestart(event.by, event.fresh)), meant, "it is restarted", now)
    return event if name == meant.name else replace(event, agent=meant.name)


def same_project(one: AgentSpec, other: AgentSpec) -> bool:
    """Whether two orchestrators would lead one project in one workspace."""
    return one.cwd.rstrip("/") == other.cwd.rstrip("/") and project_of(one) == project_of(other)


def _declared(before: Fleet, event: AgentDeclared, now: Moment) -> Event | Step:
    spec = event.spec
    known: Agent | None = before.agents.get(spec.name)
    seat = before.seats.get(spec.name)
    if seat is None and known is None and (refusal := refusal_of_name(spec.name)) is not None:
        return _refused(before, None, refusal, now)
    if spec.kind is not Kind.ORCHESTRATOR and (seat is None or finding.is_plain(before, seat)):
        return event
    if not is_seated(spec) and seat is None:
        return event if known is not None else _refused(before, None, refusal_of_length(spec.name), now)
    other = _rival(before, spec)
    if other is not None:
        leads, when = ("is to lead", "after its handoff") if _is_to_come(before, other, spec) else ("leads", "already")
        message = f"{other} {leads} the project {project_of(spec)} in {spec.cwd} {when}, and a project has one seat"
        remedy = f"give {spec.name} a project of its own, or stop the other: phoenixctl remove {other}"
        refusal = Refusal("conflict", message, remedy)
        known = before.agents.get(seat.holder) if seat is not None else known
        return _refused(before, known, refusal, now)
    seat = seat or seat_of(spec)
    meant = as_generation(spec, seat, seat.generation)
    holder: Agent | None = before.agents.get(seat.holder)
    if holder is not None and _waits(before, seat, holder):
        if meant == (seat.declared or holder.spec):
            return replace(event, spec=holder.spec)
        waiting = None if meant == holder.spec else meant
        return _held(before, replace(seat, declared=waiting), holder, "its configuration is taken over", now)
    return replace(event, spec=meant)


def _waits(fleet: Fleet, seat: Seat, holder: Agent) -> bool:
    """Whether an order waits until the seat has passed; one that is being removed has no afterwards."""
    return finding.is_passing(fleet, seat) and not holder.removing


def _rival(fleet: Fleet, spec: AgentSpec) -> str | None:
    for name, seat in fleet.seats.items():
        holder = fleet.agents.get(seat.holder)
        if name == spec.name or holder is None or holder.removing:
            continue
        if holder.spec.kind is not Kind.ORCHESTRATOR and finding.is_plain(fleet, seat):
            # It gives its seat up once the texts that were sent to it arrived, and leads nothing meanwhile.
            continue
        if same_project(holder.spec, spec) or _is_to_come(fleet, name, spec):
            return name
    return None


def _is_to_come(fleet: Fleet, name: str, spec: AgentSpec) -> bool:
    """Whether a seat is to lead this project once its handoff is over, by a declaration that waits for that."""
    waiting = fleet.seats[name].declared
    return waiting is not None and waiting.kind is Kind.ORCHESTRATOR and same_project(waiting, spec)


def _asker(fleet: Fleet, seat: Seat, event: AnswerRequested) -> Agent | None:
    """The generation that asked: an answer goes to no other one."""
    for agent in finding.generations(fleet, seat):
        if any(item.id == event.item for item in agent.items):
            return agent
    return fleet.agents.get(seat.holder)


def refusal_of_left_over(seat: Seat, agent: Agent) -> Refusal:
    """Why nothing is done with a generation whose handoff is lost, and what ends it."""
    message = f"generation {agent.spec.generation} of {seat.name} is left over from a handoff that the journal has lost"
    return Refusal("conflict", message, "phoenixctl recover")


def _no_order(seat: Seat, agent: Agent) -> Refusal:
    if finding.is_left_over(agent):
        return refusal_of_left_over(seat, agent)
    what = "has been succeeded" if agent.spec.generation < seat.generation else "does not hold the seat yet"
    message = f"generation {agent.spec.generation} of {seat.name} {what}, and takes no orders"
    return Refusal("conflict", message, f"give the order to the seat: {seat.name}")


def _refused(before: Fleet, agent: Agent | None, refusal: Refusal, now: Moment) -> Step:
    """Refuse an order; agent: None where what is declared is no agent yet."""
    return answer(Step(before), Decision(agent, refusal=refusal), now)


def _held(before: Fleet, seat: Seat, holder: Agent, what: str, now: Moment) -> Step:
    fleet = replace(before, seats={**before.seats, seat.name: seat})
    told = Decision(holder, reason=f"{what} once the handoff is over", weight="story")
    return answer(Step(fleet), told, now)
