"""How a predecessor is told to finish, and that it may go on: by a text."""

from __future__ import annotations

from phoenixd.core import requests
from phoenixd.core.actions import Deliver
from phoenixd.core.agent import Agent, Running
from phoenixd.core.decision import Decision
from phoenixd.core.handoff.state import Handoff, Said
from phoenixd.core.handoff.words import CALLED_OFF, FINISH
from phoenixd.core.moment import Moment


def way_to_tell(agent: Agent | None) -> Said:
    """How an agent can be told to finish now."""
    if agent is None or not isinstance(agent.state, Running):
        return "unsaid"
    reads = agent.spec.has_hooks or agent.hooks_seen or agent.spec.is_pasted
    return "sending" if reads and requests.unheard(agent) is None else "unsaid"


def message_id(handoff: Handoff) -> str:
    """The text that tells the predecessor to finish."""
    return f"handoff-{handoff.id}-{handoff.rounds}"


def freeze(old: Agent, handoff: Handoff, now: Moment) -> Decision:
    """Tell it to finish."""
    if handoff.said != "sending" or not isinstance(old.state, Running):
        return Decision(old)
    text = Deliver(old.name, old.incarnation, message_id(handoff), FINISH, now.at + 30.0)
    return Decision(old, (text,), "told to finish")


def silence(old: Agent, handoff: Handoff, now: Moment) -> Decision:
    """Nothing keeps it from working on; what it changes now is in no package."""
    return Decision(old)


def unfreeze(old: Agent, handoff: Handoff, now: Moment) -> Decision:
    """Tell it that it may go on."""
    is_told = handoff.said in ("armed", "sending", "sent")
    if not is_told or not isinstance(old.state, Running) or requests.unheard(old) is not None:
        return Decision(old)
    text = Deliver(old.name, old.incarnation, f"{message_id(handoff)}-off", CALLED_OFF, now.at + 60.0)
    return Decision(old, (text,), "told to go on")
