"""Answers that the operator wrote down beforehand: they are given as soon as their question is asked, and untold."""

from __future__ import annotations

from phoenixd.core import answers
from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events import RunEvent
from phoenixd.core.events.orders import AnswerRequested
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.moment import Moment

BY_CONFIGURATION = "the configuration"


def prepared(before: Agent | None, agent: Agent | None) -> AnswerRequested | None:
    """The operator's prepared answer to a question that has just been asked; most agents have none."""
    item = agent.item if agent is not None else None
    if agent is None or item is None or not item.hold or item.answering or item.veiled:
        return None
    if before is not None and any(one.hold == item.hold for one in before.items):
        return None
    for one in agent.spec.answers:
        if (one.dialog, one.asks) == (item.kind, item.text):
            return AnswerRequested(agent.name, item.id, one.allow, one.reason, item.text_hash, BY_CONFIGURATION)
    return None


def give(before: Fleet, found: Step, event: RunEvent, now: Moment) -> Step:
    """Give the operator's prepared answer to a question that has just been asked."""
    agent = before.roster.living(event.agent, event.incarnation)
    asked = found.fleet.agents.get(event.agent)
    if agent is None or asked is None or not asked.spec.answers:
        return found
    given = prepared(agent, asked)
    return put(found, answers.answer(asked, given, now), now) if given is not None else found


def quieten(agent: Agent, event: RunEvent, seen: Seen, now: Moment) -> Decision:
    """Leave out the alert of a question that a prepared answer is given to."""
    decision = seen.decision
    if prepared(seen.before, decision.agent) is None or decision.agent is None or decision.agent.item is None:
        return decision
    kind = decision.agent.item.kind
    rest = tuple(one for one in decision.actions if not isinstance(one, Alert) or one.kind != kind)
    return replace(decision, actions=rest)
