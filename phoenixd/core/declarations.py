"""What is declared: agents, and the limits of the fleet."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import requests, weights
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Stopped
from phoenixd.core.behind import plan
from phoenixd.core.decision import Decision
from phoenixd.core.events.fleet import LimitsDeclared
from phoenixd.core.events.orders import AgentDeclared, StartRequested
from phoenixd.core.fleet import Fleet, Step, answer, put
from phoenixd.core.limits import groups
from phoenixd.core.moment import Moment
from phoenixd.core.spec import AgentSpec


def declare(before: Fleet, found: Step, event: AgentDeclared, now: Moment) -> Step:
    """An agent is declared, or its specification changed."""
    fleet = before
    known = fleet.agents.get(event.spec.name)
    if known is not None:
        if event.fills_env:
            known = replace(known, spec=replace(known.spec, env=event.spec.env))
        changed = groups.moved(requests.redeclare(known, event.spec, now), now)
        told = weights.ordered(event, known, changed) if changed.is_worth_keeping or changed.refusal else changed
        return answer(found, told, now)
    last = fleet.retired.get(event.spec.name, 0)
    if (living := plan.newcomer(event, last, now)) is not None:
        return put(found, weights.ordered(event, None, living), now)
    agent = declared(event.spec, now, last)
    if event.start:
        started = requests.start(agent, StartRequested(agent.name, by="autostart"), now)
        return put(found, weights.ordered(event, None, started), now)
    noted = Decision(agent, reason="declared")
    return put(found, noted if event.is_undo else weights.ordered(event, None, noted), now)


def declared(spec: AgentSpec, now: Moment, incarnation: int = 0) -> Agent:
    """A new agent, down until somebody starts it. incarnation: the last one that its name ever had."""
    return Agent(spec, Desired.STOPPED, Stopped(), now.wall, "declared, never started", incarnation)


def set_limits(before: Fleet, found: Step, event: LimitsDeclared, now: Moment) -> Step:
    """Take the fleet-wide limits over."""
    jobs = event.jobs if event.jobs is not None else before.jobs
    clinic = event.clinic if event.clinic is not None else before.clinic
    changed = (event.limits, jobs, clinic) != (before.limits, before.jobs, before.clinic)
    noted = (Decision(None, reason="the fleet's limits changed"),) if changed else ()
    cases = before.cases
    if clinic.reader != before.clinic.reader and cases.examinations.problem:
        # It was the other reader's, and this one has not answered yet.
        cases = replace(cases, examinations=replace(cases.examinations, problem=""))
    return Step(replace(before, limits=event.limits, jobs=jobs, clinic=clinic, cases=cases), noted)
