"""What the words mean by which a CLI says why a turn failed: the word of its StopFailure hook, and its own sentence."""

from __future__ import annotations

import re

from phoenixd.core.hooks import Failure, is_refusal

WORDS: dict[str, Failure] = {
    "rate_limit": "limit",
    "server_error": "overload",
    "overloaded": "overload",
    # What Claude Code calls a failure for which it has no class.
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
STATUS = re.compile(r"API Error: (\d{3})\b")
"""How Claude Code's sentence begins where the API has answered."""
SAID_LIMIT = 4096


def failure_of(word: str | None, text: str, *, resets: bool) -> Failure:
    """What a failed turn failed for. text: the CLI's own, and never what an agent or a tool has said.

    resets: it names a time at which a limit is over, as that of a workspace does, which comes as a refused request.
    """
    found = WORDS.get(word or "", "other")
    if word == "unknown" and not resets and (told := STATUS.match(text)) is not None and is_refusal(int(told[1])):
        found = "request"
    is_full = found in ("request", "length") and FULL.search(text[:SAID_LIMIT]) is not None
    return "full" if is_full else found
