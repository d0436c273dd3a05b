"""What the words of a failed turn name beside its class, as vendors, clouds and gateways say it (C4, C13)."""

from __future__ import annotations

import json

import pytest

from phoenixd.core.hooks import Failure, Named, TurnFailed
from phoenixd.documents.failure_names import named_in
from phoenixd.documents.hooks import hook_event
from phoenixd.documents.transcript import ApiFailed
from phoenixd.harness.failed_turn import meaning

LATER = "This is a server-side issue, usually temporary — try again in a moment."

OF_THE_HOOK: list[tuple[str, str, Failure, Named]] = [
    # By 400 anything is refused.
    ("unknown", "API Error: 400 Error", "request", ""),
    ("unknown", "API Error: 400", "request", ""),
    ("unknown", "API Error: 400 Provider returned error", "request", ""),
    ("unknown", "API Error: 400 Bad Request", "request", ""),
    ("unknown", "API Error: 422 Unprocessable Entity", "request", ""),
    ("unknown", "API Error: 400 messages.7.content.0: cannot be modified.", "request", "request"),
    ("unknown", "API Error: 400 tools: Tool names must be unique.", "request", "request"),
    ("unknown", "API Error: 400 thinking.budget_tokens: Input should be greater than 1024", "request", "request"),
    ("unknown", "API Error: 400 max_tokens: 128001 > 64000, which is the maximum allowed", "request", "request"),
    ("unknown", "API Error: 400 `temperature` and `top_p` cannot both be given.", "request", "request"),
    ("unknown", "API Error: 400 messages.1.content.0: the text is too long", "request", ""),
    ("invalid_request", "API Error: 400 due to tool use concurrency issues.", "request", "request"),
    # What the window cannot hold.
    ("unknown", "API Error: 400 Your request exceeded model token limit: 262144 (requested: 271903)", "full", ""),
    ("unknown", "API Error: 400 the request exceeds the available context size", "full", ""),
    ("unknown", "API Error: 400 `inputs` tokens + `max_new_tokens` must be <= 4096", "full", ""),
    ("unknown", "API Error: 400 string too long. Expected a string with maximum length 9", "request", ""),
    # A limit, or a bill.
    ("rate_limit", "API Error: Request rejected (429) · Rate limit reached on tokens per min (TPM)", "limit", "limit"),
    ("rate_limit", "API Error: Request rejected (429) · Too many tokens per day, please wait", "limit", "limit"),
    ("rate_limit", "API Error: Request rejected (429) · Error", "limit", ""),
    ("rate_limit", "API Error: Request rejected (429) · Check your plan and billing details.", "limit", "other"),
    ("rate_limit", "API Error: Request rejected (429) · Insufficient credits. Add more.", "billing", ""),
    ("rate_limit", "API Error: Usage credits required for 1M context", "billing", ""),
    ("unknown", "API Error: 402 Payment Required", "billing", ""),
    ("rate_limit", "API Error: Request rejected (429) · Your plan doesn't include this model.", "limit", "other"),
    ("rate_limit", "API Error: Request rejected (429) · Request too large on tokens per min (TPM)", "limit", "other"),
    # A login, or a quota.
    ("authentication_failed", "Failed to authenticate. API Error: 403 Temporarily blocked", "login", "other"),
    ("authentication_failed", "Failed to authenticate. API Error: 401 rate limit of a login", "login", ""),
    ("authentication_failed", "Failed to authenticate. API Error: 403 Request not allowed", "login", ""),
    ("authentication_failed", "Failed to authenticate. API Error: 403 Rate limit exceeded", "login", "other"),
    ("authentication_failed", "Failed to authenticate. API Error: 403 Quota exceeded", "login", "other"),
    ("cloud_credential_error", "API Error: Could not load AWS credentials", "login", ""),
    ("unknown", "API Error: Could not load credentials from any providers", "login", ""),
    # An outage, or what is told by its word.
    ("server_error", f"API Error: 500 Internal server error. {LATER}", "overload", "service"),
    ("server_error", f"API Error: 503 no healthy upstream. {LATER}", "overload", "service"),
    ("server_error", "API Error: Repeated 529 Overloaded errors.", "overload", "service"),
    ("server_error", "API Error: Unable to connect to API (EAI_AGAIN)", "overload", "service"),
    ("server_error", "Request timed out", "overload", "service"),
    ("unknown", "API Error: 408 Request timed out", "overload", "service"),
    ("unknown", "API Error: 499 Client Closed Request", "overload", "service"),
    ("unknown", "API Error: 409 Conflict", "overload", ""),
    ("unknown", "API Error: something odd", "overload", ""),
    ("server_error", f"API Error: 526 Invalid SSL certificate. {LATER}", "overload", "other"),
    ("server_error", f"API Error: 501 Not Implemented. {LATER}", "overload", "other"),
    ("server_error", f"API Error: 503 No available channel for model claude-opus. {LATER}", "overload", "other"),
    ("server_error", f"API Error: 500 litellm.AuthenticationError: invalid API key. {LATER}", "overload", "other"),
    ("server_error", f"API Error: 500 prompt is too long: 200433 tokens. {LATER}", "overload", "other"),
    ("server_error", "API Error: Unable to connect to API: Self-signed certificate.", "overload", "certificate"),
    ("server_error", "API Error: Unable to connect to API: SSL certificate has expired", "overload", "certificate"),
    ("server_error", "API Error: Unable to connect to API: SSL error (CERT_REJECTED)", "overload", "certificate"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "said", "failure", "named"), OF_THE_HOOK)
def test_c4_what_a_failed_turn_of_claude_code_names(error: str, said: str, failure: Failure, named: Named) -> None:
    event = hook_event("a", 1, "stop-failure", {"error": error, "last_assistant_message": said})

    assert isinstance(event, TurnFailed)
    assert (event.failure, event.named) == (failure, named)


def test_the_vendors_body_and_the_clis_own_sentence_are_both_read() -> None:
    """Claude Code 2.1.330 knows the words of more vendors than we do, and says so in a sentence of its own."""
    said = {"error": "invalid_request", "error_details": '400 {"error":{"message":"zu lang"}}'}
    event = hook_event("a", 1, "stop-failure", {**said, "last_assistant_message": "Prompt is too long · x: zu lang"})

    assert isinstance(event, TurnFailed)
    assert event.failure == "full"
    assert event.text == said["error_details"]


def body(message: str = "no", **error: object) -> str:
    return json.dumps({"error": {"message": message, "type": "invalid_request_error", **error}})


OF_TRANSCRIPTS: list[tuple[str, int | None, str, Failure, Named]] = [
    ("response_too_many_failed_attempts", 429, "last status: 429 Too Many Requests", "limit", "limit"),
    ("response_too_many_failed_attempts", 503, "exceeded retry limit, last status: 503", "overload", "service"),
    ("server_overloaded", None, "Selected model is at capacity.", "overload", "service"),
    ("other", None, '{"detail": "Bad Request"}', "other", ""),
    ("bad_request", None, body(param=None, code=None), "request", ""),
    ("bad_request", None, body(param="messages", code=None), "request", ""),
    ("bad_request", None, body(param="tools[3].name", code=None), "request", "request"),
    ("other", None, body(code="unsupported_value"), "request", "request"),
    ("other", None, body(code="exceed_context_size_error"), "full", ""),
    ("invalid_prompt", None, "Invalid prompt: it was flagged.", "request", "request"),
    ("other", None, "stream disconnected before completion: error sending request", "other", ""),
    ("other", None, "stream disconnected before completion: Invalid image.", "other", "other"),
    ("other", None, "stream disconnected before completion: it exceeds the context window", "full", ""),
    ("INVALID_ARGUMENT", 400, "Request contains an invalid argument.", "request", ""),
    ("INVALID_ARGUMENT", 400, "* GenerateContentRequest.tools[0].function_declarations", "request", "request"),
    ("INVALID_ARGUMENT", 400, "API key not valid. Please pass a valid API key.", "login", ""),
    ("FAILED_PRECONDITION", 400, "User location is not supported for the API use.", "request", "request"),
    ("RESOURCE_EXHAUSTED", 429, "Resource has been exhausted (e.g. check quota).", "limit", "limit"),
    ("RESOURCE_EXHAUSTED", 429, "Please check your plan and billing details.", "limit", "other"),
    ("CANCELLED", 499, "The operation was cancelled.", "overload", "service"),
    ("unknown", None, "exception TypeError: fetch failed", "overload", ""),
]


@pytest.mark.parametrize(("kind", "status", "said", "failure", "named"), OF_TRANSCRIPTS)
def test_c4_what_a_transcript_names(kind: str, status: int | None, said: str, failure: Failure, named: Named) -> None:
    _, found, name = meaning(ApiFailed(kind, said, 5.0, status), resets=False)

    assert (found, name) == (failure, named)


def test_a_code_that_stands_apart_from_the_words_counts() -> None:
    """Claude Code 2.1.330 writes the API's own type into its transcript."""
    failed = ApiFailed("unknown", "API Error: 400 zu lang", 5.0, 400, codes=("exceed_context_size_error",))

    assert meaning(failed, resets=False)[1] == "full"
    assert named_in("request", "unknown", failed.text, status=400, codes=("unsupported_value",)) == "request"


def test_a_long_text_costs_no_time() -> None:
    assert named_in("request", "unknown", "messages" * 1_000_000, status=400) == ""
