"""What an exception says about why a run failed: by its type and its structured fields, never by words in its message.

Where the provider's answer says more than the type, its code decides, and of a request that was refused without a code
the provider's fixed words (documents/failures.py).

pydantic-ai names more kinds of failure with each release. A name that the installed one lacks is left out, and the
kinds above it in the table's order answer instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import ValidationError
from pydantic_ai import exceptions, tool_manager

from phoenixd.clinic.answers import UNEXPLAINED, is_set_up_wrongly, named, of_answer, of_status, of_stream
from phoenixd.clinic.failures import AnswerCut
from phoenixd.clinic.findings import GUESS, LIKELY, NO_CALLS, Calls, Finding
from phoenixd.clinic.places import is_out_of_libraries


def diagnose(error: BaseException, calls: Calls = NO_CALLS) -> Finding:
    """Why the run failed, as far as rules can tell."""
    if not isinstance(error, Exception) or isinstance(error, PASSES):
        return CANCELLED
    if isinstance(error, ExceptionGroup):
        return _of_group([diagnose(one, calls) for one in error.exceptions])
    if isinstance(error, AnswerCut):
        return CUT_ANSWERS.get(error.finish, CUT_ANSWERS["length"])
    if isinstance(error, exceptions.UsageLimitExceeded):
        # A model that invents a new name each time never uses up a tool's own budget: this limit ends it.
        # Where it invents one now and then, the limit is only where that ended.
        return INVENTED if calls.are_invented else OFTEN_ASTRAY if calls.strays else USED_UP
    if isinstance(error, exceptions.ModelHTTPError) and (told := of_answer(error)) is not None:
        return told
    if not isinstance(error, exceptions.ModelHTTPError) and (told := of_stream(error)) is not None:
        return told
    if is_set_up_wrongly(error):
        return Finding("set_up", "logic_error", "configuration")
    for kinds, finding in TABLE:
        if isinstance(error, kinds):
            return finding
    if isinstance(error, exceptions.ModelHTTPError):
        return of_status(error.status_code)
    if isinstance(error, exceptions.UnexpectedModelBehavior):
        return _of_behavior(error, calls)
    for kinds, finding in LAST:
        if isinstance(error, kinds):
            # An adapter stumbles over what a gateway answers by the same types as a tool over its own mistakes.
            return UNKNOWN if finding.detail == "bug" and is_out_of_libraries(error) else finding
    return UNKNOWN


def is_retryable(error: BaseException) -> bool:
    """Whether the same request, made again a little later, may succeed.

    For callers that stream: what was shown cannot be taken back, so they decide themselves whether to begin again.
    """
    finding = diagnose(error)
    return finding.cause == "transient_error" and finding.confidence >= LIKELY


def is_rate_limit(error: BaseException) -> bool:
    """Whether a provider refused the request because there were too many."""
    if isinstance(error, BaseExceptionGroup):
        return any(is_rate_limit(one) for one in error.exceptions)
    return diagnose(error).detail == "limit"


def _private(*names: str) -> tuple[type[BaseException], ...]:
    found = (getattr(tool_manager, name, None) for name in names)
    return tuple(one for one in found if isinstance(one, type) and issubclass(one, BaseException))


UNKNOWN = Finding("none", None, "unknown", GUESS)
"""Nothing is known: one plain retry, and no more."""
CANCELLED = Finding("cancelled", "logic_error", "cancelled")
PASSES = named("RunCancelled")
"""The program stopped its own run: no failure, although it is an Exception."""
INVENTED = Finding("unknown_tool", "hallucinated_tool", "unknown_tool")
USED_UP = Finding("usage_limit", "logic_error", "usage_limit")
OFTEN_ASTRAY = Finding("usage_limit", None, "usage_limit", GUESS)

CUT_ANSWERS = {
    "length": Finding("cut_answer", None, "output_limit"),
    "content_filter": Finding("cut_answer", "logic_error", "content_filter"),
    "error": Finding("cut_answer", "transient_error", "stream", LIKELY),
}

TABLE: Sequence[tuple[tuple[type[BaseException], ...], Finding]] = (
    (
        named("ModelContextWindowExceededError"),
        Finding("window", "context_length_exceeded", "window"),
    ),
    (named("ModelAuthenticationError"), Finding("authentication", "logic_error", "login")),
    (named("ModelQuotaExceededError"), Finding("quota", "logic_error", "billing")),
    (named("ModelNotFoundError"), Finding("model_not_found", "logic_error", "model")),
    (named("ModelRateLimitError"), Finding("rate_limit", "transient_error", "limit")),
    (named("ModelUnavailableError", "ModelOverloadedError"), Finding("overloaded", "transient_error", "overload")),
    (named("ModelServerError"), Finding("server_error", "transient_error", "overload")),
    (
        named("ModelConnectionError", "ModelTimeoutError", "ModelRequestTimeout"),
        Finding("connection", "transient_error", "overload"),
    ),
    (named("ConcurrencyLimitExceeded"), Finding("concurrency", "transient_error", "concurrency")),
    (named("SuspendedResponseExpired"), Finding("expired", "transient_error", "expired")),
    (named("IncompleteToolCall"), Finding("cut_call", "invalid_tool_arguments", "output_limit")),
    (named("OutputTokenLimitExceeded"), Finding("cut_answer", None, "output_limit")),
    (named("ContentFilterError"), Finding("content_filter", "logic_error", "content_filter")),
    (named("UserError"), Finding("user_error", "logic_error", "configuration")),
)

LAST: Sequence[tuple[tuple[type[BaseException], ...], Finding]] = (
    # Not every provider's adapter says more than that the request failed.
    (named("ModelRequestRejectedError"), UNEXPLAINED),
    (named("ModelAPIError"), Finding("api_error", "transient_error", "overload", LIKELY)),
    ((ConnectionError, TimeoutError), Finding("network", "transient_error", "overload", LIKELY)),
    (
        (
            ArithmeticError,
            AssertionError,
            AttributeError,
            ImportError,
            LookupError,
            NameError,
            NotImplementedError,
            RecursionError,
            SyntaxError,
            TypeError,
        ),
        Finding("bug", "logic_error", "bug", LIKELY),
    ),
)


def _of_group(findings: Sequence[Finding]) -> Finding:
    """All that was tried failed: if one of them may come back, trying again may help."""
    transient = [one for one in findings if one.cause == "transient_error"]
    if transient:
        return transient[0]
    return findings[0] if len({(one.cause, one.detail) for one in findings}) == 1 else UNKNOWN


def _of_behavior(error: BaseException, calls: Calls) -> Finding:
    """By what it was raised from, and by what the newest answer called."""
    cause = error.__cause__
    if calls.is_unanswered or calls.is_empty:
        # What came was no answer that can be read, or says nothing: the model got nothing wrong that is known.
        return CUT_ANSWERS["length"] if calls.finish == "length" else replace(UNKNOWN, rule="behavior")
    if calls.finish == "length":
        # Older releases have no type of their own for an answer that was cut before anything could be used.
        return CUT_ANSWERS["length"]
    if isinstance(cause, _private("_UnknownTool", "_ToolUnavailable")):
        return INVENTED
    if isinstance(cause, exceptions.ModelRetry) and calls.are_invented:
        return INVENTED
    if isinstance(cause, ValidationError | exceptions.ModelRetry):
        return Finding("arguments", "invalid_tool_arguments", "arguments" if calls.known else "output")
    if isinstance(cause, named("ToolRetryError")):
        return Finding("output", "invalid_tool_arguments", "output")
    return replace(UNKNOWN, rule="behavior")
