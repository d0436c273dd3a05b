"""Measurements of runs that asked to be recycled, heard with what workers and handoffs have to do with them. Pure."""

from __future__ import annotations

from phoenixd.core.agent import Agent
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision
from phoenixd.core.events.work import MeasurementLost, WorkMeasured
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.iteration import Recycled
from phoenixd.core.moment import Moment
from phoenixd.core.recycling import rules
from phoenixd.core.seat import finding


def hear(before: Fleet, found: Step, event: WorkMeasured | MeasurementLost, now: Moment) -> Step:
    """Take a measurement that is about such a run."""
    agent = found.fleet.agents.get(event.agent)
    known = agent.recycled if agent is not None else None
    if agent is None or known is None:
        return found
    if isinstance(event, MeasurementLost):
        return put(found, rules.measured_again(agent, known, now), now) if rules.is_weighed(agent) else found
    if event.turn == 0 and not event.at_end and 0 < known.opening == event.number:
        began = replace(known, before=event.fingerprint, survey=event.survey, opening=0)
        return put(found, Decision(replace(agent, recycled=began)), now)
    if not event.at_end or not rules.is_weighed(agent) or event.number != known.weighing:
        return found
    return put(found, rules.judge(agent, known, event, _of_workers(found.fleet, agent, known), now), now)


def _of_workers(fleet: Fleet, agent: Agent, known: Recycled) -> tuple[str, str]:
    """Why it may wait for workers or its handoff, and what workers have done for it since; empty for nothing."""
    seat = finding.of(fleet, agent.name)
    if seat is not None and seat.handoff is not None and not seat.handoff.is_over:
        return "its seat passes on", ""
    name = seat.name if seat is not None else agent.name
    mine = [one for one in (*fleet.tasks.open, *fleet.tasks.ended) if one.asked_by == name]
    done = [one.id for one in mine if one.state == "done" and one.since_wall >= known.judged_wall]
    open_ones = [one.id for one in mine if not one.has_ended]
    under_way = f"task {open_ones[0]} is under way for it" if open_ones else ""
    return under_way, f"task {done[0]} was done for it" if done else ""
