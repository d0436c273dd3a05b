"""How a predecessor is told to finish, and kept from beginning anything: by armed answers, or by a text."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import armed, requests
from phoenixd.core.actions import Deliver
from phoenixd.core.agent import Agent, Running
from phoenixd.core.armed_answer import ArmedAnswer
from phoenixd.core.decision import Decision
from phoenixd.core.handoff.state import Handoff, Said
from phoenixd.core.handoff.words import BEGIN_NOTHING, CALLED_OFF, FINISH, HANDS_OFF, REMINDER
from phoenixd.core.moment import Moment

ARMED_FOR = 1800.0
"""Seconds for which an armed answer stands, should nobody take it back."""
MANY = 1000
DISPATCHERS = ("Task", "Agent")
"""Tools by which an orchestrator gives work to others."""


def way_to_tell(agent: Agent | None) -> Said:
    """How an agent can be told to finish now: at the end of its open turn, or by a text that begins one."""
    if agent is None or not isinstance(agent.state, Running):
        return "unsaid"
    if agent.state.activity.turn_open and armed.can(agent, "stop"):
        return "armed"
    reads = agent.spec.has_hooks or agent.hooks_seen or agent.spec.is_pasted
    return "sending" if reads and requests.unheard(agent) is None else "unsaid"


def message_id(handoff: Handoff) -> str:
    """The text that tells the predecessor to finish."""
    return f"handoff-{handoff.id}-{handoff.rounds}"


def freeze(old: Agent, handoff: Handoff, now: Moment) -> Decision:
    """Tell it to finish, and deny it the tools by which work is given to others."""
    decision = Decision(old)
    if armed.can(old, "tool"):
        until = now.at + ARMED_FOR
        deny = ArmedAnswer(_id(handoff, "begin"), "tool", BEGIN_NOTHING, until, "freeze", DISPATCHERS, MANY)
        decision = armed.arm(decision, deny, now)
    if handoff.said == "armed":
        block = ArmedAnswer(_id(handoff, "finish"), "stop", FINISH, now.at + ARMED_FOR, "freeze")
        decision = armed.arm(decision, block, now)
    if handoff.said == "sending" and isinstance(old.state, Running):
        text = Deliver(old.name, old.incarnation, message_id(handoff), FINISH, now.at + 30.0)
        decision = replace(decision, actions=(*decision.actions, text), reason=decision.reason or "told to finish")
    return decision


def silence(old: Agent, handoff: Handoff, now: Moment) -> Decision:
    """Deny it every tool: what it changed now would be in no package."""
    if not armed.can(old, "tool"):
        return Decision(old)
    deny = ArmedAnswer(_id(handoff, "rest"), "tool", HANDS_OFF, now.at + ARMED_FOR, "freeze", (), MANY)
    return armed.arm(Decision(old), deny, now)


def unfreeze(old: Agent, handoff: Handoff, now: Moment) -> Decision:
    """Take all that back, and say so."""
    decision = armed.disarm(Decision(old), *(_id(handoff, what) for what in ("begin", "finish", "rest")))
    if handoff.said in ("armed", "sending", "sent") and isinstance(old.state, Running):
        if requests.unheard(old) is None:
            text = Deliver(old.name, old.incarnation, f"{message_id(handoff)}-off", CALLED_OFF, now.at + 60.0)
            decision = replace(decision, actions=(*decision.actions, text))
    return replace(decision, reason=decision.reason or "told to go on") if decision.actions else decision


def remind(new: Agent, handoff: Handoff, now: Moment) -> Decision:
    """Ask a successor for its ack: its turn ended without one, as where the daemon was down when it asked."""
    if not isinstance(new.state, Running) or requests.unheard(new) is not None:
        return Decision(new)
    text = Deliver(new.name, new.incarnation, f"{message_id(handoff)}-ack-{handoff.tries}", REMINDER, now.at + 60.0)
    return Decision(new, (text,), "asked for its acknowledgement once more")


def _id(handoff: Handoff, what: str) -> str:
    return f"handoff-{handoff.id}-{handoff.rounds}-{what}"
