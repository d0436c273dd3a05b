"""What the words mean by which a CLI or an API says why a turn failed: codes first, and sentences where no code exists.

A code is compared whole, wherever the vendor put it. Of sentences only fixed parts are known, and they are looked for
in what the CLI or the API itself has said, never in what an agent or a tool has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

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
"""Of Claude Code's hook, in whose words all CLIs are told."""
REFUSED = "invalid_request_error"
"""What two vendors call every wrong request, whatever is wrong with it."""
CODES: Mapping[str, Failure] = {
    # An account that has to be paid for. Most of these come with status 429, as a limit of the rate does.
    "insufficient_quota": "billing",
    "billing_hard_limit_reached": "billing",
    "credit_balance_exhausted": "billing",
    "organization_spend_limit_exceeded": "billing",
    "project_spend_limit_exceeded": "billing",
    "organization_usage_limit_exceeded": "billing",
    "exceeded_current_quota_error": "billing",
    "deactivated_workspace": "billing",
    "billing_error": "billing",
    "budget_exceeded": "billing",
    "BILLING_DISABLED": "billing",
    # A request that the window cannot hold.
    "context_length_exceeded": "full",
    "context_window_exceeded": "full",
    "model_context_window_exceeded": "full",
    "request_too_large": "full",
    # A key that is none: Google refuses it as a wrong request.
    "API_KEY_INVALID": "login",
    "invalid_api_key": "login",
    # A request that is refused as it is.
    REFUSED: "request",
    "invalid_prompt": "request",
    "invalid_function_parameters": "request",
}
"""What APIs call a failure: their `code`, `type`, `status` or `reason`."""
TOO_LONG_STRING = "string_above_max_length"
"""OpenAI's code for a text above its own cap; where that text is a name or an id, the window has no part in it."""
CONTENT = re.compile(r"(?:^|\.)(?:input|prompt|instructions|content|text|arguments|output)(?:\[\d+\])?$")
"""The parameters of a request that hold what was said."""
FULL = re.compile(
    r"prompt is too long|context_window_exceeded|ran out of room in the model's context window"
    r"|reached its context window limit"
    r"|exceeds? (?:the )?(?:model's )?(?:maximum )?(?:context|input token)|input is too long"
    r"|exceeds the maximum number of tokens|request payload size exceeds the limit"
    r"|maximum context length|reduce the length of the messages|input tokens exceeded",
    re.IGNORECASE,
)
"""What CLIs and APIs say of a request that the window cannot hold."""
UNPAID = re.compile(
    r"credit balance is too low|prepayment credits are depleted|budget has been exceeded! current cost"
    r"|quota exceeded\. check your plan and billing details|workspace is out of credits|you hit your spend cap"
    r"|to use codex with your chatgpt plan, upgrade",
    re.IGNORECASE,
)
"""What they say of an account without money: three sentences of APIs, and those of Codex, which keeps no code of it."""
STATUS = re.compile(r"API Error: (\d{3})\b")
"""How Claude Code's sentence begins where the API has answered."""
UNFIT = (400, 413, 422)
"""The statuses of a request that is wrong in itself."""
SAID_LIMIT = 4096

_CODED = re.compile(r'\\{0,3}"(?:code|type|status|reason)\\{0,3}":\s*\\{0,3}"(\w{3,64})\\{0,3}"')
_PARAMETER = re.compile(r'\\{0,3}"param\\{0,3}":\s*\\{0,3}"([\w.\[\]]{1,128})\\{0,3}"')


def failure_of(word: str | None, text: str, *, resets: bool) -> Failure:
    """What a failed turn failed for. text: the CLI's own, and never what an agent or a tool has said.

    resets: it names a time at which a limit is over, as that of a workspace does, which comes as a refused request.
    """
    found, text = WORDS.get(word or "", "other"), text[:SAID_LIMIT]
    if word == "unknown" and not resets and (told := STATUS.match(text)) is not None and is_refusal(int(told[1])):
        found = "request"
    param = _PARAMETER.search(text)
    coded = _of_codes(_CODED.findall(text), param[1] if param is not None else "")
    if found in ("limit", "login") and coded == "billing":
        return coded
    if found in ("request", "other") and coded is not None:
        found = coded
    if found in ("limit", "request") and not resets and UNPAID.search(text):
        return "billing"
    return "full" if found in ("request", "length") and FULL.search(text) else found


def failure_of_body(body: object, status: int, *, resets: bool) -> Failure | None:
    """What the body of an API's refusal says, as a table: by a code, or by fixed words where it has none of its own.

    status: that of HTTP. A limit for each minute has words like those of a request that is too long.
    """
    error = _inner(body)
    coded = _of_codes(list(_codes(error)), str(error.get("param") or ""))
    code, message = error.get("code"), error.get("message")
    has_own = isinstance(code, str) and not code.isdigit() and code not in ("", REFUSED)
    if coded not in (None, "request") or has_own or not isinstance(message, str):
        return coded
    if not resets and UNPAID.search(message[:SAID_LIMIT]):
        return "billing"
    return "full" if status in UNFIT and FULL.search(message[:SAID_LIMIT]) else coded


def _of_codes(codes: list[str], param: str) -> Failure | None:
    """The first one that says more than that the request was refused."""
    if TOO_LONG_STRING in codes and CONTENT.search(param):
        return "full"
    known = [CODES[code] for code in codes if code in CODES]
    return next((one for one in known if one != "request"), "request" if known else None)


def _codes(error: dict[str, Any]) -> Iterator[str]:
    details = error.get("details")
    for table in (error, *(details if isinstance(details, list) else ())):
        for name in ("code", "type", "status", "reason"):
            if isinstance(table, dict) and isinstance(value := table.get(name), str):
                yield value


def _inner(body: object) -> dict[str, Any]:
    """Most bodies hold the error in a table of its own."""
    if not isinstance(body, dict):
        return {}
    return next((body[name] for name in ("error", "detail") if isinstance(body.get(name), dict)), body)
