"""What CLIs say of a turn that failed, and what Codex writes beside it, as they were recorded."""

from __future__ import annotations

from typing import Any

GIVEN_UP = {
    "max_tokens": "API Error: Claude's response exceeded the 32000 output token maximum.",
    "model_context_window_exceeded": "API Error: The model has reached its context window limit.",
}
"""What Claude Code says of an answer that was cut for good, by the stop_reason that it saw last."""

INFO: tuple[tuple[str, str], ...] = (
    ("Codex ran out of room", "context_window_exceeded"),
    ("You've hit your usage limit", "usage_limit_exceeded"),
    ("You’ve hit your usage limit", "usage_limit_exceeded"),
    ("To use Codex with your ChatGPT plan", "usage_limit_exceeded"),
    ("Quota exceeded", "usage_limit_exceeded"),
    ("rate limit exceeded", "rate_limit_exceeded"),
    ("Selected model is at capacity", "server_overloaded"),
    ("We’re currently experiencing high demand", "internal_server_error"),
    ("We're currently experiencing high demand", "internal_server_error"),
    ("Invalid prompt", "invalid_prompt"),
)
"""The `codex_error_info` that Codex 0.169.0 was recorded to write beside a message; "other" beside all others."""

SAID_STATUS = (
    ("exceeded retry limit, last status: ", "response_too_many_failed_attempts"),
    ("unexpected status ", "http_connection_failed"),
)
"""Messages behind whose beginning a status of HTTP stands, which Codex writes as a number too."""


def codex_info(message: str) -> str | dict[str, Any]:
    """What Codex writes beside the message of an error."""
    for beginning, word in SAID_STATUS:
        number = message.removeprefix(beginning)[:3]
        if message.startswith(beginning) and number.isdigit():
            return {word: {"http_status_code": int(number)}}
    return next((word for beginning, word in INFO if message.startswith(beginning)), "other")
