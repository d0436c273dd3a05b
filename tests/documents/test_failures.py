"""What a turn failed for: by the codes that APIs gave, and by fixed words of theirs where there is no code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phoenixd.core.hooks import Failure
from phoenixd.documents.failures import SAID_LIMIT, failure_of, failure_of_body

USED_UP = "You exceeded your current quota, please check your plan and billing details."
"""What OpenAI says of an account without credit, and Google of a limit that is over in a minute."""


def openai(
    code: str | None, message: str = "no", kind: str = "invalid_request_error", param: str = ""
) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param or None, "code": code}}


def google(status: str, message: str, reason: str = "") -> dict[str, Any]:
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}] if reason else []
    return {"error": {"code": 400, "message": message, "status": status, "details": details}}


PREPAID = (
    "Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage billing."
)
GATEWAY = {
    "error": {"message": "Budget has been exceeded! Current cost: 26.08", "type": "budget_exceeded", "code": "400"}
}
TOO_LONG = "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576)."
BODIES: list[tuple[str, dict[str, Any], Failure]] = [
    ("rate_limit", openai("insufficient_quota", USED_UP, "insufficient_quota"), "billing"),
    ("rate_limit", openai(None, USED_UP, "insufficient_quota"), "billing"),
    ("rate_limit", openai("billing_hard_limit_reached"), "billing"),
    ("rate_limit", openai("credit_balance_exhausted"), "billing"),
    ("rate_limit", google("RESOURCE_EXHAUSTED", PREPAID), "billing"),
    ("invalid_request", openai(None, "Your credit balance is too low to access the Anthropic API."), "billing"),
    ("invalid_request", GATEWAY, "billing"),
    ("authentication_failed", google("PERMISSION_DENIED", "no", "BILLING_DISABLED"), "billing"),
    ("other", {"detail": {"code": "deactivated_workspace"}}, "billing"),
    ("invalid_request", openai("context_length_exceeded", "no"), "full"),
    ("invalid_request", google("INVALID_ARGUMENT", TOO_LONG), "full"),
    ("invalid_request", google("INVALID_ARGUMENT", "Request payload size exceeds the limit: 20971520 bytes."), "full"),
    ("invalid_request", {"message": "Input is too long for requested model."}, "full"),
    ("invalid_request", openai("string_above_max_length", param="messages[17].content"), "full"),
    ("invalid_request", openai("string_above_max_length", param="input[15].arguments"), "full"),
    ("invalid_request", google("INVALID_ARGUMENT", "API key expired.", "API_KEY_INVALID"), "login"),
]


@pytest.mark.parametrize(("word", "body", "failure"), BODIES)
def test_a_code_says_what_a_turn_failed_for_and_fixed_words_where_there_is_none(
    word: str, body: dict[str, Any], failure: Failure
) -> None:
    """C13: an account without credit is for a person; nobody waits for it as for a limit."""
    text = json.dumps(body)

    assert failure_of(word, f"[API Error: {text}]", resets=False) == failure
    assert failure_of(word, json.dumps(text), resets=False) == failure, "a body in a string of another one"
    assert failure_of_body(body, 400, resets=False) == failure


@pytest.mark.parametrize(
    "said",
    [
        "Quota exceeded. Check your plan and billing details.",
        "Your workspace is out of credits. Add credits to continue.",
        "You hit your spend cap set in your workspace. Increase your spend cap to continue.",
        "To use Codex with your ChatGPT plan, upgrade to Plus: https://chatgpt.com/explore/plus.",
    ],
)
def test_an_account_without_credit_of_which_codex_keeps_no_code_is_told_by_its_own_sentences(said: str) -> None:
    assert failure_of("rate_limit", said, resets=False) == "billing"
    assert failure_of("rate_limit", said, resets=True) == "limit", "what names a time is waited for"
    assert failure_of("server_error", said, resets=False) == "overload", "its class is none of a limit"


@pytest.mark.parametrize(
    "said",
    [
        "You've hit your usage limit. Visit https://chatgpt.com/codex/settings/usage to purchase more credits or try "
        "again later.",
        "rate limit exceeded: Rate limit reached for gpt-5.5 on tokens per min (TPM). Please try again in 1.44s.",
        json.dumps(google("RESOURCE_EXHAUSTED", USED_UP)),
        "Quota exceeded for aiplatform.googleapis.com/online_prediction_input_tokens_per_minute_per_base_model.",
    ],
)
def test_a_limit_of_the_rate_stays_a_limit(said: str) -> None:
    assert failure_of("rate_limit", said, resets=False) == "limit"


def test_a_code_of_its_own_counts_more_than_words() -> None:
    said = f"{TOO_LONG} Your credit balance is too low. {PREPAID}"

    assert failure_of_body(openai("invalid_prompt", said), 400, resets=False) == "request"
    assert failure_of_body(openai("what nobody knows", said), 400, resets=False) == "request"
    assert failure_of_body(openai("context_length_exceeded", said), 400, resets=False) == "full"


@pytest.mark.parametrize("word", ["other", "server_error", "unknown"])
def test_f_ho_1_a_full_window_that_codex_calls_a_broken_stream_is_one_by_the_word_that_it_writes_beside_it(
    word: str,
) -> None:
    """Codex 0.169.0 writes `codex_error_info` "other" beside each sentence that begins so (records of the clinic)."""
    passed_on = "stream disconnected before completion: Your input exceeds the context window of this model."

    assert failure_of(word, passed_on, resets=False) == "full"
    assert failure_of(word, passed_on.replace("context window", "patience"), resets=False) != "full"


@pytest.mark.parametrize(
    "said",
    ["Prompt is too long", f"[API Error: {TOO_LONG} (Status: INVALID_ARGUMENT)]", "The conversation is too long."],
)
def test_x5_a_full_window_is_one_by_fixed_words_where_its_cli_says_neither_class_nor_code(said: str) -> None:
    """The same session would be refused again: it is no outage that passes."""
    assert failure_of("unknown", said, resets=False) == "full"
    assert failure_of("unknown", said, resets=True) == "overload", "it names a time at which it is over"
    assert failure_of("unknown", f"API Error: 529 {said}", resets=False) == "overload", "a status says more than words"


def test_a_name_that_is_too_long_is_no_full_window() -> None:
    body = openai("string_above_max_length", "Invalid 'input[95].call_id': string too long.", param="input[95].call_id")

    assert failure_of_body(body, 400, resets=False) == "request"
    assert failure_of("invalid_request", json.dumps(body), resets=False) == "request"


def test_a_failure_without_a_class_is_a_refused_request_where_the_body_says_so() -> None:
    said = json.dumps(openai(None, "No tool output found for function call call_7Qk2."))

    assert failure_of("other", said, resets=False) == "request"
    assert failure_of("other", "prompt is too long; credit balance is too low", resets=False) == "other"


@pytest.mark.parametrize(
    "body", [None, "prompt is too long", [], {}, {"error": "prompt is too long"}, {"error": {"code": 7}}]
)
def test_a_body_without_the_form_of_one_says_nothing(body: object) -> None:
    assert failure_of_body(body, 400, resets=False) is None


def test_only_the_beginning_of_what_was_said_is_read() -> None:
    assert failure_of("invalid_request", f"{'x' * SAID_LIMIT} {TOO_LONG}", resets=False) == "request"


def test_words_of_a_limit_for_each_minute_are_not_those_of_a_full_window() -> None:
    said = {"error": {"message": "This request exceeds the maximum number of tokens per minute."}}

    assert failure_of_body(said, 429, resets=False) is None
    assert failure_of_body(said, 400, resets=False) == "full"


@pytest.mark.parametrize("said", ["The thinking budget has been exceeded.", "token budget has been exceeded"])
def test_a_budget_of_tokens_is_no_bill(said: str) -> None:
    assert failure_of("invalid_request", said, resets=False) == "request"
