"""A context that is full ends a session, and not the agent: the run is ended, and the next one is fresh (F-HO-1).

An orchestrator with a project is handed over instead, from files: its session cannot say any more what only it knew.
Whatever is asked of such a session is refused again, also after a resume. What refuses says so in its own words, or the
meter does; an answer that was cut for its length in a context with room is another matter, and for a person.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Afterwards, Running
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.evidence import AnswerCut
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.meter import parts
from phoenixd.core.meter.reading import read
from phoenixd.core.moment import Moment
from phoenixd.core.spec import Kind
from phoenixd.core.transitions import close_items, end_run

FAILED_TURN = "failed turn"
"""The item and the alert by which a person would be told of such an end."""

FULL = 0.85
"""The share of the window from which on a refusal that names no reason is believed to be for its length: a CLI that
does not compact refuses from 88 % on."""


def hear(agent: Agent, event: TurnFailed, seen: Seen, now: Moment) -> Decision:
    """End the run whose context is full. Of a kind that ends by itself a person decides."""
    state = agent.state
    if parts.is_old(event, seen) or not isinstance(state, Running) or agent.spec.kind is Kind.EPHEMERAL:
        return seen.decision
    why = _full(agent, event)
    if why is None:
        return seen.decision
    ended = _end(agent, why, now)
    told = (one for one in seen.decision.actions if not (isinstance(one, Alert) and one.kind == FAILED_TURN))
    reason = "; ".join(filter(None, (seen.decision.reason, ended.reason)))
    gauge = read(parts.of(agent), agent.spec.context)
    readings = (*seen.decision.readings, ("tokens", gauge.tokens), ("limit", gauge.limit))
    return replace(ended, actions=(*told, *ended.actions), reason=reason, readings=readings, facts=seen.decision.facts)


def hear_cut(agent: Agent, event: AnswerCut, seen: Seen, now: Moment) -> Decision:
    """End the run whose answer ended at the end of the window, as its transcript says; a mere limit ends none."""
    state, told = agent.state, seen.decision
    is_over = event.how != "window" or event.went_on or not told.reason
    if is_over or not isinstance(state, Running) or agent.spec.kind is Kind.EPHEMERAL:
        return told
    ended = _end(agent, "its context is full: an answer was cut at the end of the window", now)
    reason = f"{told.reason}; {ended.reason}"
    return replace(ended, reason=reason, readings=told.readings, facts=told.facts)


def _end(agent: Agent, why: str, now: Moment) -> Decision:
    """End the run. Whether a handoff follows is known when its tree is gone; a fresh start is what follows else."""
    spec = agent.spec
    is_handed_over = spec.kind is Kind.ORCHESTRATOR and bool(spec.seat) and spec.project is not None
    next_ = "to be handed over from files" if is_handed_over else "fresh with the brief"
    known = close_items(replace(agent, meter=replace(parts.of(agent), full=why)), FAILED_TURN)
    return end_run(known, Afterwards.RESTART, f"{why}: {next_}", now, fresh=True, spoil=True)


def _full(agent: Agent, event: TurnFailed) -> str | None:
    """Why the context is known to be full; None where it is not."""
    said = " ".join((event.text or event.error or "").split())[:100]
    if event.failure == "full":
        return f"its context is full, as it was told ({said})"
    share = read(parts.of(agent), agent.spec.context).share
    if event.failure in ("request", "length") and share is not None and share >= FULL:
        return f"its context is full ({share:.1%} of the window), and what it asked was refused"
    return None
