"""What operators order of checks and restorations, and what becomes of these with a stop, a start or a removal."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import armed
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running, Starting
from phoenixd.core.decision import Decision, Refusal, Seen, one_reason
from phoenixd.core.events.orders import AgentWithdrawn, RestartRequested, StartRequested, StopRequested
from phoenixd.core.events.resonance import CheckRequested, RestorationRequested
from phoenixd.core.moment import Moment
from phoenixd.core.resonance import due, noting, restoring


def why_not_checked(agent: Agent) -> Refusal | None:
    """Why the agent cannot be asked for a code now, with what helps; None where it can."""
    known = agent.resonance
    if known is None or not due.is_on(agent) or not isinstance(agent.state, Running):
        return _off(agent)
    if not (able := armed.can(agent)):
        return Refusal("conflict", f"{agent.name} cannot be checked: {able.why_not}")
    if known.is_restoring or known.lost:
        return Refusal("conflict", f"the marker of {agent.name} is lost", f"phoenixctl explain {agent.name}")
    return None


def request_check(agent: Agent, event: CheckRequested, seen: Seen, now: Moment) -> Decision:
    """An operator, or who has important work for it, wants to know (R33)."""
    known = agent.resonance
    if refusal := why_not_checked(agent):
        return Decision(agent, refusal=refusal)
    assert known is not None
    asked = replace(known, due="key" if event.why else "asked", deferred=0)
    why = f" ({event.why[: noting.MOST_WORD]})" if event.why else ""
    said = f"a check is asked for by {event.by}{why}: it comes at the next turn's end"
    return Decision(replace(agent, resonance=asked), reason=said, weight="story")


def request_restoration(agent: Agent, event: RestorationRequested, seen: Seen, now: Moment) -> Decision:
    """An operator wants a new session from the seed."""
    known = agent.resonance
    if known is not None and known.is_restoring:
        return Decision(agent, refusal=Refusal("conflict", f"{agent.name} is being restored already"))
    if known is None or not due.is_on(agent) or not isinstance(agent.state, Running):
        return Decision(agent, refusal=_off(agent))
    decision = restoring.lost(agent, known, f"ordered by {event.by}", now, by=event.by)
    return replace(decision, weight="story")


def hear_order(
    agent: Agent, event: StartRequested | StopRequested | RestartRequested | AgentWithdrawn, seen: Seen, now: Moment
) -> Decision:
    """An operator's stop, restart or removal ends a restoration at any step; a start after a loss begins anew."""
    known, decision = agent.resonance, seen.decision
    if known is None or decision.refusal is not None:
        return decision
    is_start = isinstance(event, StartRequested | RestartRequested)
    if known.is_restoring and not isinstance(event, StartRequested):
        over = replace(known, restoration=None, lost="", challenge=None)
        dropped = noting.noted(decision, agent, over)
        return replace(dropped, reason=one_reason(dropped.reason, "its restoration is dropped"))
    is_left_alone = decision.agent is not None and isinstance(decision.agent.state, Starting | Running)
    if is_start and known.lost and not is_left_alone:
        rearmed = noting.noted(decision, agent, restoring.rearmed(known))
        return replace(rearmed, reason=one_reason(rearmed.reason, "with a new session and new codes"))
    return decision


def _off(agent: Agent) -> Refusal:
    if not due.is_on(agent):
        remedy = f"set enabled = true in [agent.{agent.spec.role}.resonance]"
        return Refusal("conflict", f"{agent.name} has no marker: resonance is off for it", remedy)
    if not isinstance(agent.state, Running):
        return Refusal("conflict", f"{agent.name} is {agent.state_words}", f"phoenixctl start {agent.name}")
    message = f"the session of {agent.name} began before resonance was on: it has no marker"
    return Refusal("conflict", message, f"phoenixctl restart {agent.name} --fresh")
