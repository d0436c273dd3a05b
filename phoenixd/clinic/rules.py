"""What an exception says about why a run failed: by its type and its structured fields, never by words in its message.

Where the provider's answer says more than the type, its code decides, and of a request that was refused without a code
the provider's fixed words (documents/failures.py).

pydantic-ai names more kinds of failure with each release. A name that the installed one lacks is left out, and the
kinds above it in the table's order answer instead.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError
from pydantic_ai import exceptions, tool_manager

from phoenixd.clinic.failures import AnswerCut
from phoenixd.clinic.places import is_out_of_libraries
from phoenixd.core.hooks import OF_A_SERVICE, WRONG_BY_STATUS, Failure
from phoenixd.core.treatment.words import RootCause
from phoenixd.documents.failure_names import named_in
from phoenixd.documents.failures import failure_of_body, words_of_body

CERTAIN, LIKELY, GUESS = 0.95, 0.7, 0.3
MOST_CAUSES = 8


@dataclass(frozen=True, slots=True)
class Finding:
    """rule: what recognised it. cause: None where it is none of the six. detail: closer than they are, in the words of
    core/treatment. confidence: below 0.5 nothing is known."""

    rule: str
    cause: RootCause | None
    detail: str
    confidence: float = CERTAIN

    @property
    def explanation(self) -> str:
        return EXPLAINED.get(self.detail, self.detail)


@dataclass(frozen=True, slots=True)
class Calls:
    """What is known of a failed run's newest answer. invented: called names that no tool has; known: those that one
    has; outputs: those that only take the answer. finish: the reason for which the answer ended. is_empty: it says and
    calls nothing. strays: calls of tools that do not exist, in all its answers. is_unanswered: the newest request has
    no answer."""

    invented: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    finish: str = ""
    strays: int = 0
    is_empty: bool = False
    is_unanswered: bool = False

    @property
    def are_invented(self) -> bool:
        return bool(self.invented) and not self.known and not self.outputs


def diagnose(error: BaseException, calls: Calls = Calls()) -> Finding:
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
    if isinstance(error, exceptions.ModelHTTPError) and (told := _of_answer(error)) is not None:
        return told
    if not isinstance(error, exceptions.ModelHTTPError) and (told := _of_stream(error)) is not None:
        return told
    if _is_set_up_wrongly(error):
        return Finding("set_up", "logic_error", "configuration")
    for kinds, finding in TABLE:
        if isinstance(error, kinds):
            return finding
    if isinstance(error, exceptions.ModelHTTPError):
        return _of_status(error.status_code)
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


def _named(*names: str) -> tuple[type[BaseException], ...]:
    """The exceptions of these names that the installed release has."""
    found = (getattr(exceptions, name, None) for name in names)
    return tuple(one for one in found if isinstance(one, type) and issubclass(one, BaseException))


def _private(*names: str) -> tuple[type[BaseException], ...]:
    found = (getattr(tool_manager, name, None) for name in names)
    return tuple(one for one in found if isinstance(one, type) and issubclass(one, BaseException))


UNKNOWN = Finding("none", None, "unknown", GUESS)
"""Nothing is known: one plain retry, and no more."""
CANCELLED = Finding("cancelled", "logic_error", "cancelled")
PASSES = _named("RunCancelled")
"""The program stopped its own run: no failure, although it is an Exception."""
INVENTED = Finding("unknown_tool", "hallucinated_tool", "unknown_tool")
USED_UP = Finding("usage_limit", "logic_error", "usage_limit")
OFTEN_ASTRAY = Finding("usage_limit", None, "usage_limit", GUESS)
DOUBTED = Finding("doubted", None, "unknown", GUESS)
"""Its words name another cause than its status and type."""
REJECTED = Finding("rejected", "logic_error", "request_rejected")
UNEXPLAINED = Finding("rejected", None, "request_rejected", GUESS)
"""Refused, and nothing says what is wrong with the request."""

CUT_ANSWERS = {
    "length": Finding("cut_answer", None, "output_limit"),
    "content_filter": Finding("cut_answer", "logic_error", "content_filter"),
    "error": Finding("cut_answer", "transient_error", "stream", LIKELY),
}

TABLE: Sequence[tuple[tuple[type[BaseException], ...], Finding]] = (
    (
        _named("ModelContextWindowExceededError"),
        Finding("window", "context_length_exceeded", "window"),
    ),
    (_named("ModelAuthenticationError"), Finding("authentication", "logic_error", "login")),
    (_named("ModelQuotaExceededError"), Finding("quota", "logic_error", "billing")),
    (_named("ModelNotFoundError"), Finding("model_not_found", "logic_error", "model")),
    (_named("ModelRateLimitError"), Finding("rate_limit", "transient_error", "limit")),
    (_named("ModelUnavailableError", "ModelOverloadedError"), Finding("overloaded", "transient_error", "overload")),
    (_named("ModelServerError"), Finding("server_error", "transient_error", "overload")),
    (
        _named("ModelConnectionError", "ModelTimeoutError", "ModelRequestTimeout"),
        Finding("connection", "transient_error", "overload"),
    ),
    (_named("ConcurrencyLimitExceeded"), Finding("concurrency", "transient_error", "concurrency")),
    (_named("SuspendedResponseExpired"), Finding("expired", "transient_error", "expired")),
    (_named("IncompleteToolCall"), Finding("cut_call", "invalid_tool_arguments", "output_limit")),
    (_named("OutputTokenLimitExceeded"), Finding("cut_answer", None, "output_limit")),
    (_named("ContentFilterError"), Finding("content_filter", "logic_error", "content_filter")),
    (_named("UserError"), Finding("user_error", "logic_error", "configuration")),
)

LAST: Sequence[tuple[tuple[type[BaseException], ...], Finding]] = (
    # Not every provider's adapter says more than that the request failed.
    (_named("ModelRequestRejectedError"), UNEXPLAINED),
    (_named("ModelAPIError"), Finding("api_error", "transient_error", "overload", LIKELY)),
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

NO_ADDRESS = frozenset({"UnsupportedProtocol", "LocalProtocolError", "InvalidURL"})
"""What HTTP clients, each with types of its own, raise for an address or a header that is none."""
QUOTA = _named("ModelQuotaExceededError")
ANSWERS: Mapping[Failure, Finding] = {
    "full": Finding("window", "context_length_exceeded", "window"),
    "billing": Finding("quota", "logic_error", "billing"),
    "login": Finding("authentication", "logic_error", "login"),
}
"""What a provider says of a request that it refused."""

STATUSES = {
    401: Finding("authentication", "logic_error", "login"),
    402: Finding("quota", "logic_error", "billing"),
    403: Finding("authentication", "logic_error", "login"),
    404: Finding("model_not_found", "logic_error", "model"),
    408: Finding("connection", "transient_error", "overload"),
    413: Finding("window", "context_length_exceeded", "window", LIKELY),
    429: Finding("rate_limit", "transient_error", "limit"),
    529: Finding("overloaded", "transient_error", "overload"),
    503: Finding("overloaded", "transient_error", "overload"),
}

EXPLAINED = {
    "window": "The input is longer than the model's context window.",
    "output_limit": "The model reached its output limit before it was done.",
    "unknown_tool": "The model called a tool that does not exist.",
    "arguments": "The arguments of a tool call do not fit the tool's schema.",
    "output": "The answer does not fit the output type.",
    "login": "The provider refuses the credentials.",
    "billing": "The account has no credit left.",
    "model": "The provider does not know the model.",
    "request_rejected": "The provider refuses the request itself, so that it cannot succeed unchanged.",
    "content_filter": "The provider's filter stopped the answer.",
    "usage_limit": "The run reached a limit of its usage_limits.",
    "configuration": "The agent is set up wrongly.",
    "bug": "Code of a tool, a validator or the program failed.",
    "limit": "The provider limits the rate of requests.",
    "overload": "The provider is overloaded, failed, or could not be reached.",
    "concurrency": "Too many requests wait already.",
    "expired": "The provider no longer has the answer that it was working on.",
    "stream": "The provider broke the answer off.",
    "cancelled": "The run was cancelled.",
    "unknown": "No rule knows this failure.",
}


def _of_group(findings: Sequence[Finding]) -> Finding:
    """All that was tried failed: if one of them may come back, trying again may help."""
    transient = [one for one in findings if one.cause == "transient_error"]
    if transient:
        return transient[0]
    return findings[0] if len({(one.cause, one.detail) for one in findings}) == 1 else UNKNOWN


def _of_answer(error: exceptions.ModelHTTPError) -> Finding | None:
    """By the body of a refusal, where it says more than type and status: pydantic-ai does not know every gateway."""
    status, words = error.status_code, words_of_body(error.body)
    waits = status == 429 and getattr(error, "retry_after", None) is not None
    # A gateway wraps another's refusal in a 500.
    said = failure_of_body(error.body, status if status < 500 else 400, resets=waits)
    if said is not None and said in ANSWERS:
        return ANSWERS[said] if status < 500 or said == "full" else DOUBTED
    if waits:
        # A quota of a day is told by the type of an unpaid bill; the time to wait tells it apart.
        return STATUSES[429] if isinstance(error, QUOTA) else None
    named = named_in(_class_of(status), None, words, status=status)
    if named == "other" or (status == 413 and named == "limit"):
        return DOUBTED
    if named == "request" or status in WRONG_BY_STATUS:
        return REJECTED
    return UNEXPLAINED if status >= 500 and status not in OF_A_SERVICE else None


def _of_stream(error: BaseException) -> Finding | None:
    """A refusal in the middle of a stream has no status: the vendor's client keeps its body."""
    if not isinstance(error, exceptions.ModelAPIError):
        return None
    said = failure_of_body(getattr(error.__cause__, "body", None), 400, resets=False)
    return None if said is None else ANSWERS.get(said, UNEXPLAINED if said == "request" else None)


def _class_of(status: int) -> Failure:
    if status in (401, 403):
        return "login"
    if status == 429:
        return "limit"
    return "overload" if status >= 500 or status in OF_A_SERVICE else "request"


def _of_status(status: int) -> Finding:
    if status in STATUSES:
        return STATUSES[status]
    if status in OF_A_SERVICE:
        return Finding("server_error", "transient_error", "overload")
    return UNEXPLAINED


def _is_set_up_wrongly(error: BaseException) -> bool:
    """A certificate that nobody trusts, an address or a header that is none: told as a connection that failed."""
    cause: BaseException | None = error
    for _ in range(MOST_CAUSES):
        if isinstance(cause, ssl.SSLCertVerificationError) or type(cause).__name__ in NO_ADDRESS:
            return True
        cause = (cause.__cause__ or cause.__context__) if cause is not None else None
    return False


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
    if isinstance(cause, _named("ToolRetryError")):
        return Finding("output", "invalid_tool_arguments", "output")
    return replace(UNKNOWN, rule="behavior")
