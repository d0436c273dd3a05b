"""One event: the parts of its row in the table are asked in order, and their decisions taken into the fleet."""

from __future__ import annotations

from typing import Any

from phoenixd.core import hearing
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Live
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision, Refusal, Seen, one_reason
from phoenixd.core.events import RUN_EVENTS, Event
from phoenixd.core.events.orders import AgentDeclared, OperatorEvent
from phoenixd.core.fleet import Fleet, Step, answer
from phoenixd.core.handoff import asking
from phoenixd.core.hearing import AgentPart, OwnPart
from phoenixd.core.hooks import Hook, ToolStarted, TurnEnded
from phoenixd.core.limits import outage
from phoenixd.core.moment import Moment
from phoenixd.core.parts import Signal
from phoenixd.core.resonance import exchange
from phoenixd.core.seat import door
from phoenixd.core.turn import calls


def as_heard(fleet: Fleet, event: Event) -> Event:
    """The event as rules and journal hear of it: what an agent answers to a check is no part of its work."""
    if not isinstance(event, TurnEnded):
        return event
    return exchange.as_heard(fleet.roster.living(event.agent, event.incarnation), event)


def step(before: Fleet, event: Event, now: Moment) -> Step:
    """Decide on one event: ask the parts of its row, in order."""
    event = as_heard(before, event)
    if type(event) in door.ADDRESSED:
        met = door.addressed(before, event, now)
        if isinstance(met, Step):
            return met
        event = met
        if (waits := asking.at_the_door(before, event, now)) is not None:
            return waits
    found = Step(before)
    for part in hearing.TABLE[type(event)]:
        found = (
            _decided(before, found, part, event, now) if isinstance(part, tuple) else part(before, found, event, now)
        )
    return found


def _decided(before: Fleet, found: Step, parts: tuple[AgentPart | OwnPart, ...], event: Any, now: Moment) -> Step:
    """Have the parts of one agent make a decision, and take it into the fleet."""
    is_of_a_run = type(event) in RUN_EVENTS
    known = before.roster.living(event.agent, event.incarnation) if is_of_a_run else before.agents.get(event.agent)
    agent: Agent | None = known
    if agent is None:
        # An older incarnation's words change nothing; the performer has answered for its processes.
        return _unknown(found, event)
    decision = Decision(agent)
    signals: tuple[Signal, ...] = ()
    is_news = not isinstance(event, Hook) or _is_news(agent, event)
    viewed: Agent | None = None
    part: Any
    for part in parts:
        left = decision.agent
        assert left is not None
        if part not in hearing.OWN:
            decision = part(left, event, Seen(agent, decision, signals, is_news), now)
            continue
        place, taken = hearing.OWN[part]
        if left is not viewed:
            viewed, view = left, left.view(is_news)
        heard = part(getattr(left, place), event, view, now)
        if heard.part is not getattr(left, place):
            decision = _joined(decision, taken(left, heard, now))
        signals = (*signals, *heard.signals)
    return answer(found, outage.once(before, agent, decision) if decision.actions else decision, now)


def _joined(first: Decision, then: Decision) -> Decision:
    actions, readings = (*first.actions, *then.actions), (*first.readings, *then.readings)
    return replace(then, actions=actions, reason=one_reason(first.reason, then.reason), readings=readings)


def _is_news(agent: Agent, event: Hook) -> bool:
    """Whether a hook was not heard before: a shim says again what was not acknowledged, and which calls are open."""
    state = agent.state
    if not isinstance(state, Live) or 0 < event.seq <= state.run.hook_seq:
        return False
    return not (isinstance(event, ToolStarted) and calls.is_known(state.activity.leases, event))


def _unknown(found: Step, event: Event) -> Step:
    if not isinstance(event, OperatorEvent) or isinstance(event, AgentDeclared):
        return found
    return replace(found, refusal=Refusal("not_found", f"there is no agent {event.agent}", "phoenixctl status"))
