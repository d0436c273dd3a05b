"""What a transcript tells of a turn that the API refused, as the hook which the CLI does not have."""

from __future__ import annotations

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.hooks import Failure, TurnFailed
from phoenixd.documents.failures import failure_of
from phoenixd.documents.limits import reset_in_words
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.harness import Harness
from phoenixd.harness.failures import failure_word

MAX_WORDS = 4096

REFUSED_UNTOLD: frozenset[Failure] = frozenset({"full", "request"})
"""What a CLI refuses by itself, without asking the API, and tells by no hook."""


def failed_turn(agent: Agent, facts: SessionFacts, harness: Harness, now: float) -> TurnFailed | None:
    """The end of this run's newest turn by an error; None where a hook told it.

    A CLI that tells what the API refused says nothing of a prompt that it refuses itself, as for its length: what that
    turn came to stands in its transcript alone, and by its hooks the turn is open still.
    """
    state, failed = agent.state, facts.error
    if not isinstance(state, Running) or failed is None:
        return None
    word = failure_word(failed)
    resets = failed.resets if failed.resets is not None else reset_in_words(failed.text, now)
    failure = failure_of(word, failed.text, resets=resets is not None)
    if harness.tells_failures and not (failure in REFUSED_UNTOLD and state.activity.turn_open):
        return None
    if agent.parking is not None or state.activity.waiting is not None:
        return None
    run, asked_at = state.run, facts.prompt.at if facts.prompt is not None else None
    if failed.at is None or failed.at < max(run.began_wall, asked_at or 0.0) or facts.turn_open:
        return None
    return TurnFailed(
        agent.name,
        run.incarnation,
        text=failed.text[:MAX_WORDS],
        error=word,
        failure=failure,
        reset_wall=resets,
        status=failed.status,
    )
