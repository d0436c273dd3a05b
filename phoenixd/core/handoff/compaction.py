"""Keep a CLI from shortening an orchestrator's context by itself, as long as a handoff can still come first (E80)."""

from __future__ import annotations

from phoenixd.core import armed
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.armed_answer import ArmedAnswer
from phoenixd.core.decision import Decision
from phoenixd.core.fleet import Step, put
from phoenixd.core.handoff import triggers
from phoenixd.core.handoff.state import Handoff
from phoenixd.core.handoff.words import NOT_SHORTENED
from phoenixd.core.meter import parts as meters
from phoenixd.core.meter.reading import limit
from phoenixd.core.moment import Moment

ID = "compaction"
ARMED_FOR = 12 * 3600.0
"""Seconds for which it stands; it is armed for longer once half of them are over."""
TIMES = 1000
"""After this many refusals the CLI may compact: refusing that often leads nowhere."""


def keep(found: Step, holder: Agent, last: Handoff | None, now: Moment) -> Step:
    """Arm the holder against compactions, or take that back where no handoff begins by itself any more.

    Where the window is unknown no meter leads to a handoff, and a context that nothing shortens would be a dead end.
    """
    if not isinstance(holder.state, Running):
        return found
    known = armed.of(holder, ID)
    if not triggers.may_begin(last):
        decision = armed.disarm(Decision(holder), ID)
        return put(found, decision, now) if decision.actions else found
    if limit(meters.of(holder), holder.spec.context) is None:
        return found
    if known is not None and known.answer.until - now.at > ARMED_FOR / 2:
        return found
    answer = ArmedAnswer(ID, "compaction", NOT_SHORTENED, now.at + ARMED_FOR, "handoff", (), TIMES)
    if armed.refusal(holder, answer, now):
        return found
    return put(found, armed.arm(Decision(holder), answer, now), now)
