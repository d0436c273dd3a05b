"""Why a turn ended that the API refused, in one vocabulary: that of Claude Code's StopFailure hook."""

from __future__ import annotations

from phoenixd.core.hooks import OF_A_SERVICE
from phoenixd.documents.transcript import ApiFailed

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
"""By what a transcript calls it: Codex in lower case, the Gemini API in upper case."""


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
