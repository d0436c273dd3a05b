"""What the words mean by which a CLI says why a turn failed: the word of its StopFailure hook, and its own sentence."""

from __future__ import annotations

import re

from phoenixd.core.hooks import Failure

WORDS: dict[str, Failure] = {
    "rate_limit": "limit",
    "server_error": "overload",
    "overloaded": "overload",
    # What Claude Code calls a connection that breaks, among others.
    "unknown": "overload",
    "authentication_failed": "login",
    "oauth_org_not_allowed": "login",
    "billing_error": "billing",
    "invalid_request": "request",
    "max_output_tokens": "length",
    "model_context_window_exceeded": "full",
}
FULL = re.compile(
    r"prompt is too long|context_window_exceeded|ran out of room in the model's context window"
    r"|reached its context window limit"
    r"|exceeds? (?:the )?(?:model's )?(?:maximum )?(?:context|input token)|input is too long",
    re.IGNORECASE,
)
"""What CLIs and APIs say of a request that the window cannot hold."""
SAID_LIMIT = 4096


def failure_of(word: str | None, text: str) -> Failure:
    """What a failed turn failed for. text: the CLI's own, and never what an agent or a tool has said."""
    found = WORDS.get(word or "", "other")
    is_full = found in ("request", "length") and FULL.search(text[:SAID_LIMIT]) is not None
    return "full" if is_full else found
