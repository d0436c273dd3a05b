"""How a predecessor is told to finish, and kept from beginning anything: by armed answers, or by a text."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import armed, requests
from phoenixd.core.actions import Deliver
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.armed_answer import ArmedAnswer
from phoenixd.core.decision import Decision
from phoenixd.core.handoff.state import Handoff, Said
from phoenixd.core.handoff.words import BEGIN_NOTHING, FINISH, HANDS_OFF, READ_AGAIN, REMINDER, file_refused
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.resonance import due

ARMED_FOR = armed.MAX_SECONDS - 60.0
"""Seconds for which an armed answer stands, should nobody take it back or arm it again."""
LEFT = 1800.0
"""Seconds before its end in which it is armed again: a handoff that waits for a person may take days."""
MANY = 1000
DENIED = ("begin", "finish", "rest")
"""What is armed: that it begins no work, that it finishes, that it uses no tool."""
DISPATCHERS = ("Task", "Agent")
"""Tools by which an orchestrator gives work to others."""


def way_to_tell(agent: Agent | None) -> Said:
    """How an agent can be told to finish now: at the end of its open turn, or by a text.

    A turn whose end was held up already, as for a handoff that was called off since, has no further end to be told at.
    """
    if agent is None or not isinstance(agent.state, Running):
        return "unsaid"
    if agent.state.activity.can_be_kept and armed.can(agent, "stop"):
        return "armed"
    reads = agent.spec.has_hooks or agent.hooks_seen or agent.spec.is_pasted
    return "sending" if reads and requests.unheard(agent) is None else "unsaid"


def message_id(handoff: Handoff) -> str:
    """The text that tells the predecessor to finish."""
    return f"handoff-{handoff.id}-{handoff.rounds}"


def freeze(old: Agent, handoff: Handoff, now: Moment) -> Decision:
    """Tell it to finish, and deny it the tools by which work is given to others; no check holds up its last turn."""
    decision = due.take_back(Decision(old))
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


def fades(old: Agent, handoff: Handoff) -> Instant | None:
    """When the first of what is denied to it has to be armed again; None where nothing is."""
    return min((answer.until - LEFT for answer in _armed(old, handoff)), default=None)


def renew(old: Agent, handoff: Handoff, now: Moment) -> Decision:
    """Deny it for longer what would soon be denied no more."""
    decision = Decision(old)
    for answer in _armed(old, handoff):
        if now.at >= answer.until - LEFT and armed.can(old, answer.on):
            decision = armed.arm(decision, replace(answer, until=now.at + ARMED_FOR), now)
    return decision


def unfreeze(old: Agent, handoff: Handoff, now: Moment) -> Decision:
    """Take all that back. A run that is being ended is kept from its tools until it has ended."""
    if not isinstance(old.state, Running):
        return Decision(old)
    return armed.disarm(Decision(old), *(_id(handoff, what) for what in DENIED))


def begins_with(id: str) -> str | None:
    """How the ids of a freeze begin, by the id of an answer that it armed; None for any other answer."""
    beginning, _, what = id.rpartition("-")
    return beginning if beginning.startswith("handoff-") and what in DENIED else None


def remind(new: Agent, handoff: Handoff, now: Moment) -> Decision:
    """Ask a successor for its ack: its turn ended without one, as where the daemon was down when it asked."""
    if not isinstance(new.state, Running) or requests.unheard(new) is not None:
        return Decision(new)
    # Each text has an id of its own, so that the next one is not taken for one that has arrived.
    anew, words = (f"-{handoff.attempt}", READ_AGAIN) if handoff.attempt else ("", REMINDER)
    message = f"{message_id(handoff)}-ack-{handoff.tries}{anew}"
    text = Deliver(new.name, new.incarnation, message, words, now.at + 60.0)
    return Decision(new, (text,), "asked for its acknowledgement once more")


def refuse_file(new: Agent, handoff: Handoff, why: str, now: Moment) -> Decision:
    """Tell a successor why the file in which it acknowledges was not believed; each file once."""
    if not isinstance(new.state, Running) or requests.unheard(new) is not None:
        return Decision(new)
    message = f"{message_id(handoff)}-file-{handoff.tries}-{handoff.ack_files}"
    text = Deliver(new.name, new.incarnation, message, file_refused(why), now.at + 60.0)
    return Decision(new, (text,), "told why its handoff-ack.json was refused")


def _armed(old: Agent, handoff: Handoff) -> tuple[ArmedAnswer, ...]:
    """What was armed and is neither given often enough nor taken back, also where its time is over."""
    known = (armed.of(old, _id(handoff, what)) for what in DENIED)
    return tuple(one.answer for one in known if one is not None and not one.is_spent and not one.over)


def _id(handoff: Handoff, what: str) -> str:
    return f"handoff-{handoff.id}-{handoff.rounds}-{what}"
