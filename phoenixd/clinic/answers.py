"""What a provider's answer to a request says about why a run failed: its body, its status, and the connection to it."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from pydantic_ai import exceptions

from phoenixd.clinic.findings import GUESS, LIKELY, Finding
from phoenixd.core.hooks import OF_A_SERVICE, WRONG_BY_STATUS, Failure
from phoenixd.documents.failure_names import named_in
from phoenixd.documents.failures import failure_of_body, words_of_body


def named(*names: str) -> tuple[type[BaseException], ...]:
    """The exceptions of these names that the installed release has."""
    found = (getattr(exceptions, name, None) for name in names)
    return tuple(one for one in found if isinstance(one, type) and issubclass(one, BaseException))


MOST_CAUSES = 8
DOUBTED = Finding("doubted", None, "unknown", GUESS)
"""Its words name another cause than its status and type."""
REJECTED = Finding("rejected", "logic_error", "request_rejected")
UNEXPLAINED = Finding("rejected", None, "request_rejected", GUESS)
"""Refused, and nothing says what is wrong with the request."""
NO_ADDRESS = frozenset({"UnsupportedProtocol", "LocalProtocolError", "InvalidURL"})
"""What HTTP clients, each with types of its own, raise for an address or a header that is none."""
QUOTA = named("ModelQuotaExceededError")
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


def of_answer(error: exceptions.ModelHTTPError) -> Finding | None:
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


def of_stream(error: BaseException) -> Finding | None:
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


def of_status(status: int) -> Finding:
    """By the status alone, where no type and no body says more."""
    if status in STATUSES:
        return STATUSES[status]
    if status in OF_A_SERVICE:
        return Finding("server_error", "transient_error", "overload")
    return UNEXPLAINED


def is_set_up_wrongly(error: BaseException) -> bool:
    """A certificate that nobody trusts, an address or a header that is none: told as a connection that failed."""
    cause: BaseException | None = error
    for _ in range(MOST_CAUSES):
        if isinstance(cause, ssl.SSLCertVerificationError) or type(cause).__name__ in NO_ADDRESS:
            return True
        cause = cause.__cause__ if cause is not None else None
    return False
