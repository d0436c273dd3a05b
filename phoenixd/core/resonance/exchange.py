"""A check is no part of the work: what was heard in it is told apart before any other rule hears of it.

A turn whose end was held up ends when the check was answered. So that end bears the words that the agent had when it
was held up, and what it answered stands beside them, in `TurnEnded.check`.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import armed
from phoenixd.core.agent import Agent
from phoenixd.core.hooks import PromptSubmitted, TurnEnded
from phoenixd.core.resonance.state import Challenge


def going_on(agent: Agent) -> Challenge | None:
    """The check or anchor that the agent is answering."""
    known = agent.resonance
    challenge = known.challenge if known is not None else None
    is_answered = challenge is not None and challenge.kept and challenge.incarnation == agent.incarnation
    return challenge if is_answered else None


def was_given(agent: Agent, challenge: Challenge) -> bool:
    """Whether it was this answer that held up the turn's end, as the shim counts."""
    one = armed.of(agent, challenge.id)
    return one is not None and one.uses > 0


def is_ours(agent: Agent, event: PromptSubmitted) -> bool:
    """Whether a prompt is the check itself, which some CLIs tell so."""
    challenge = going_on(agent)
    one = armed.of(agent, challenge.id) if challenge is not None else None
    said = event.text.strip()
    return one is not None and bool(said) and one.answer.text.strip().startswith(said)


def as_heard(agent: Agent | None, event: TurnEnded) -> TurnEnded:
    """The end of a turn without the answer to a check."""
    if agent is None or event.sub or event.check is not None:
        return event
    challenge = going_on(agent)
    if challenge is None or not was_given(agent, challenge):
        return event
    # Somebody else's prompt came in between, and the last words may be about that.
    words = event.text if challenge.disturbed else challenge.words
    return replace(event, text=words, check=event.text)
