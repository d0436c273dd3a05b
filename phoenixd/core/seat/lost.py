"""Seats where the journal is older than the world: which generations there are, and which one holds its seat."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Running
from phoenixd.core.behind.world import Trace
from phoenixd.core.decision import Decision
from phoenixd.core.events.fleet import JournalBehind, RecoveryConfirmed
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.moment import Moment
from phoenixd.core.seat import finding, names, succession
from phoenixd.core.seat.state import Seat, as_generation, is_seated, missing, seat_of
from phoenixd.core.spec import AgentSpec


def generations(specs: Iterable[AgentSpec], fleet: Fleet, traces: Iterable[Trace]) -> Iterator[AgentSpec]:
    """What a configuration declares, with a specification for each generation that journal or world know of.

    A generation that was removed is not declared by its seat's declaration: nothing would ever start it again.
    """
    traces = tuple(traces)
    there = [trace.agent for trace in traces if _is_there(trace) and not _is_left_over(trace, fleet)]
    removed = {trace.agent for trace in traces if trace.wish is not None and trace.agent not in there}
    for spec in specs:
        if not is_seated(spec):
            yield spec
            continue
        seat = fleet.seats.get(spec.name) or seat_of(spec)
        met = {number for name in there for seat_name, number in _read(name) if seat_name == spec.name}
        met |= {agent.spec.generation for agent in finding.generations(fleet, seat) if agent.name not in removed}
        yield from (as_generation(spec, seat, number) for number in sorted(met - {0}) or [seat.generation])


def found_again(before: Fleet, found: Step, event: JournalBehind, now: Moment) -> Step:
    """Say anew who holds which seat, by what is wanted: an old journal may know nothing of a fence. A part."""
    specs = ((agent.spec, agent.desired is Desired.RUNNING) for agent in found.fleet.agents.values())
    known = found.fleet.seats
    seats = {
        name: known[name] if name in known and known[name].generation == one.generation else one
        for name, one in missing({}, specs).items()
    }
    found = replace(found, fleet=replace(found.fleet, seats=seats))
    living = {trace.agent for trace in event.world.traces if trace.living is not None}
    for seat in seats.values():
        if seat.handoff is None or seat.handoff.is_over:
            found = _without_handoff(found, seat, living, now)
    return found


def end_left_over(before: Fleet, found: Step, event: RecoveryConfirmed, now: Moment) -> Step:
    """A person has confirmed it: each seat has one generation again. A part."""
    for agent in before.agents.values():
        if finding.is_left_over(agent):
            found = ended(found, agent, f"{event.by} confirmed the recovery", now)
    return found


def ended(found: Step, agent: Agent, by: str, now: Moment) -> Step:
    """End and remove a generation whose handoff is lost. What it wrote stays where it is."""
    there: Agent | None = found.fleet.agents.get(agent.name)
    if there is None:
        return found
    why = f"generation {agent.spec.generation} of {agent.spec.seat} ends: the journal has lost its handoff; {by}"
    return put(found, succession.leaving(there, why, now), now)


def _without_handoff(found: Step, seat: Seat, living: Collection[str], now: Moment) -> Step:
    """No handoff leads the generations beside the holder any more: what lives stays until a person has confirmed it."""
    for agent in finding.others(found.fleet, seat):
        if agent.name not in living or agent.found is None or not isinstance(agent.state, Running):
            found = ended(found, agent, "and nothing of it is to run", now)
            continue
        why = f"the journal has lost its handoff, and generation {seat.generation} holds the seat {seat.name}"
        over = replace(
            agent, spec=succession.kept_down(agent.spec), found=replace(agent.found, reason=why, proposal="end")
        )
        found = put(found, Decision(over, reason=f"left over: {why}"), now)
    return found


def _is_there(trace: Trace) -> bool:
    return trace.living is not None or (trace.wish is not None and trace.wish.word != "removed")


def _is_left_over(trace: Trace, fleet: Fleet) -> bool:
    """Whether the journal knows that it was removed: a daemon that was killed meanwhile leaves its last wish behind."""
    is_gone = trace.agent not in fleet.agents and trace.agent in fleet.retired
    return is_gone and trace.living is None and trace.incarnation <= fleet.retired[trace.agent]


def _read(name: str) -> Iterator[tuple[str, int]]:
    """Seat and number of what may be a generation's name: any name is that of a first one."""
    yield names.read(name) or (name, 1)
