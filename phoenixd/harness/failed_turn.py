"""What a transcript tells of a turn that the API refused, as the hook which the CLI does not have."""

from __future__ import annotations

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Live, is_its_own
from phoenixd.core.hooks import OF_A_SERVICE, Failure, Named, TurnFailed
from phoenixd.core.traits import traits_of
from phoenixd.documents.failure_names import named_in
from phoenixd.documents.failures import failure_of
from phoenixd.documents.limits import reset_in_words
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.documents.transcript import ApiFailed
from phoenixd.harness import HARNESSES, Harness

MAX_WORDS = 4096

_WORDS = {
    "usage_limit_exceeded": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "RESOURCE_EXHAUSTED": "rate_limit",
    "server_overloaded": "server_error",
    "internal_server_error": "server_error",
    "response_stream_disconnected": "server_error",
    "response_stream_connection_failed": "server_error",
    "UNAVAILABLE": "server_error",
    "INTERNAL": "server_error",
    "unauthorized": "authentication_failed",
    "UNAUTHENTICATED": "authentication_failed",
    "PERMISSION_DENIED": "authentication_failed",
    "context_window_exceeded": "invalid_request",
    "bad_request": "invalid_request",
    "invalid_prompt": "invalid_request",
    "INVALID_ARGUMENT": "invalid_request",
}
"""The words of Claude Code's StopFailure hook, by what a transcript calls a failure: Codex in lower case, the Gemini
API in upper case."""

REFUSED_UNTOLD: frozenset[Failure] = frozenset({"full", "request"})
"""What a CLI refuses by itself, without asking the API, and tells by no hook."""


def failed_turn(agent: Agent, facts: SessionFacts, harness: Harness, now: float) -> TurnFailed | None:
    """The end of this run's newest turn by an error; None where a hook told it.

    A CLI that tells what the API refused says nothing of a prompt that it refuses itself, as for its length: what that
    turn came to stands in its transcript alone, and by its hooks the turn is open still.
    """
    state, failed = agent.state, facts.error
    if failed is None or not (isinstance(state, Live) and is_its_own(state)):
        return None
    resets = failed.resets if failed.resets is not None else reset_in_words(failed.text, now)
    word, failure, named = meaning(failed, resets=resets is not None, broke=broke_off(facts))
    if harness.tells_failures and not (failure in REFUSED_UNTOLD and state.activity.turn_open):
        return None
    if agent.limits.parking is not None or state.activity.waiting is not None:
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
        named=named,
        reset_wall=resets,
        status=failed.status,
    )


def is_told_by_transcript_alone(name: str) -> bool:
    """Whether neither a hook nor the exit code of this harness's CLI says what the API refused."""
    harness = HARNESSES.get(name)
    return harness is not None and not harness.tells_failures and not traits_of(name).exits_with_status


def broke_off(facts: SessionFacts) -> bool:
    """Whether the newest turn ended as the stream of its answer broke, by the word of its CLI's reader."""
    cut = facts.cut_at_end
    return cut is not None and cut.how == "stream" and not facts.went_on


def meaning(failed: ApiFailed, *, resets: bool, broke: bool = False) -> tuple[str, Failure, Named]:
    """The hook's word for a failure that a transcript tells of, its class, and what it names beside that.

    broke: its stream broke off. Where nothing says why, that is a service, or the way to it, that failed (F-PROC-26).
    """
    word = failure_word(failed)
    failure = failure_of(word, failed.text, resets=resets, codes=failed.codes)
    named = named_in(failure, failed.kind, failed.text, status=failed.status, codes=failed.codes)
    is_outage = broke and failure == "other" and named == ""
    return word, "overload" if is_outage else failure, named


def failure_word(failed: ApiFailed) -> str:
    """The hook's word for a failure that only a transcript tells of; the status decides where there is one."""
    status = failed.status
    if status in (401, 403):
        return "authentication_failed"
    if status == 402:
        return "billing_error"
    if status == 429:
        return "rate_limit"
    if status is not None and (status >= 500 or status in OF_A_SERVICE):
        return "server_error"
    # A kind that is new to us goes through as it is: a person is told of it, and nothing asks again and again.
    return _WORDS.get(failed.kind, failed.kind if status is None else "invalid_request")
