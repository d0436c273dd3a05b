"""How what is known of a marker, and what follows of it, get into the decision that others have begun."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.agent import Agent
from phoenixd.core.decision import Decision, one_reason
from phoenixd.core.resonance.state import Resonance

MOST_WORD = 80
"""Characters of a word from outside that go into a reason."""


def noted(decision: Decision, agent: Agent, known: Resonance) -> Decision:
    """The decision with what is known now; `agent` is as the parts before left it."""
    if known is agent.resonance:
        return decision
    return replace(decision, agent=replace(agent, resonance=known))


def joined(first: Decision, then: Decision) -> Decision:
    """Two decisions about one agent as one: the agent is that of the later."""
    return replace(
        first,
        agent=then.agent,
        actions=(*first.actions, *then.actions),
        reason=one_reason(first.reason, then.reason),
        readings=(*first.readings, *then.readings),
        facts=(*first.facts, *then.facts),
        weight=then.weight if first.weight is None and not first.facts and not first.actions else None,
    )
