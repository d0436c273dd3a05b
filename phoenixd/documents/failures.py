"""What the words mean by which a CLI or an API says why a turn failed: codes first, and sentences where no code exists.

A code is compared whole, wherever the vendor put it. Of sentences only fixed parts are known, and they are looked for
in what the CLI or the API itself has said, never in what an agent or a tool has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from phoenixd.core.hooks import OF_A_SERVICE, Failure, is_refusal

WORDS: dict[str, Failure] = {
    "rate_limit": "limit",
    "server_error": "overload",
    "overloaded": "overload",
    # What Claude Code calls a failure for which it has no class.
    "unknown": "overload",
    "authentication_failed": "login",
    "oauth_org_not_allowed": "login",
    "cloud_credential_error": "login",
    "verification_required": "login",
    "account_on_hold": "login",
    "billing_error": "billing",
    "invalid_request": "request",
    "max_output_tokens": "length",
    "model_context_window_exceeded": "full",
}
"""Of Claude Code's hook, in whose words all CLIs are told."""
REFUSED = "invalid_request_error"
"""What two vendors call every wrong request, whatever is wrong with it."""
PARTS = frozenset(
    {
        "array_above_max_length", "content_filter", "content_policy_violation", "cyber_policy_violation",
        "decimal_above_max_value", "decimal_below_min_value", "empty_array", "empty_string",
        "FAILED_PRECONDITION", "image_parse_error", "integer_above_max_value", "integer_below_min_value",
        "invalid_base64_image", "invalid_encrypted_content", "invalid_function_parameters", "invalid_image",
        "invalid_image_format", "invalid_image_url", "invalid_json", "invalid_json_schema", "invalid_prompt",
        "invalid_type", "invalid_value", "missing_required_parameter", "previous_response_not_found",
        "string_below_min_length", "unknown_parameter", "unsupported_country_region_territory",
        "unsupported_parameter", "unsupported_value",
    }
)  # fmt: skip
"""Codes that say what is wrong with a request, and with it alone."""
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
    "insufficient_user_quota": "billing",
    "usage_not_included": "billing",
    "Arrearage": "billing",
    "BILLING_DISABLED": "billing",
    "INSUFFICIENT_G1_CREDITS_BALANCE": "billing",
    # A request that the window cannot hold.
    "context_length_exceeded": "full",
    "context_window_exceeded": "full",
    "model_context_window_exceeded": "full",
    "request_too_large": "full",
    "exceed_context_size_error": "full",
    "model_max_prompt_tokens_exceeded": "full",
    "tokens_limit_reached": "full",
    # A key that is none: Google refuses it as a wrong request.
    "API_KEY_INVALID": "login",
    "API_KEY_SERVICE_BLOCKED": "login",
    "ACCESS_TOKEN_EXPIRED": "login",
    "SERVICE_DISABLED": "login",
    "invalid_api_key": "login",
    "authentication_error": "login",
    # A request that is refused as it is.
    REFUSED: "request",
    **dict.fromkeys(PARTS, "request"),
}
"""What APIs call a failure: their `code`, `type`, `status` or `reason`."""
TOO_LONG_STRING = "string_above_max_length"
"""OpenAI's code for a text above its own cap; where that text is a name or an id, the window has no part in it."""
CONTENT = re.compile(r"(?:^|\.)(?:input|messages|prompt|instructions|contents?|text|arguments|output)(?:\[\d+\])?$")
"""The parameters of a request that hold what was said."""
FULL = re.compile(
    # Of Claude Code and Codex themselves.
    r"prompt is too long|conversation (?:is )?too long|ran out of room in the model's context window"
    r"|reached its context window limit|^request_too_large"
    # Of vendors, clouds and servers of models. Claude Code 2.1.330 knows most of these by the same words.
    r"|context_window_exceeded|context_length_exceeded|contextwindowexceedederror|input is too long"
    r"|exceeds? (?:the )?(?:model's |available )?(?:maximum )?(?:context|input token)|context window exceeds limit"
    r"|exceeds the maximum number of tokens|request payload size exceeds the limit|exceeded model token limit"
    r"|maximum (?:context|prompt) (?:length|limit)|reduce the length of the messages|input tokens exceed"
    r"|(?:longer|greater) than the (?:model's context|maximum model|context) length|input token length too long"
    r"|prompt exceeds max length|tokens in request more than max tokens allowed|range of input length should be"
    r"|but model only supports up to|`inputs` tokens \+ `max_new_tokens` must be|context exceeds your deployment"
    r"|exceeded (?:max )?context length|context size has been exceeded|(?:request|message) size \(\d+ bytes\) exceeds"
    # Services in China answer in Chinese: over-long, or beyond the context, the window or the greatest length.
    r"|超长|(?:输入|提示词?|上下文|内容).{0,6}过长|超[出过].{0,16}(?:上下文|窗口|最大长度|长度限制)",
    re.IGNORECASE,
)
"""What CLIs and APIs say of a request that the window cannot hold."""
NO_WINDOW = re.compile(
    r"policy_blocked|dlp_request_denied|expected a string with maximum length|expected maxlength", re.IGNORECASE
)
"""Beside words of FULL these say that something else was too long, or not allowed."""
UNPAID = re.compile(
    r"credit balance is too low|prepayment credits are depleted|budget has been exceeded! current cost"
    r"|quota exceeded\. check your plan and billing details|workspace is out of credits|you hit your spend cap"
    r"|to use codex with your chatgpt plan, upgrade|usage credits required"
    r"|insufficient (?:account )?(?:balance|credits|funds)|requires more credits|never purchased credits"
    r"|used all available credits|exceededbudget|over budget\. spend=|余额不足",
    re.IGNORECASE,
)
"""What they say of an account without money: APIs and gateways, and Codex, which keeps no code of it."""
NO_LOGIN = re.compile(
    r"api key not valid|api key expired|api key not found|(?:incorrect|invalid) api key|missing environment variable: `"
    r"|(?:this|your) organization has been disabled|could not load (?:the )?(?:\w+ )?(?:default )?credentials"
    r"|failed to (?:resolve aws|acquire google oauth) credentials",
    re.IGNORECASE,
)
"""What they say of a key or a login that is none, where neither code nor status says it: Google's API, two clouds'
libraries below Claude Code, and Codex."""
PASSED_ON = re.compile(r"^stream disconnected before completion: ", re.IGNORECASE)
"""How Codex begins a sentence whose rest is the API's own, where the API gave no code that Codex knows: beside it Codex
writes "other", as beside all that it has no word for."""
STATUS = re.compile(r"^API Error: (\d{3})\b", re.MULTILINE)
"""How Claude Code's sentence begins where the API has answered."""
UNFIT = (400, 413, 422)
"""The statuses of a request that is wrong in itself."""
SAID_LIMIT = 4096

_CODED = re.compile(r'\\{0,3}"(?:code|type|status|reason)\\{0,3}":\s*\\{0,3}"(\w{3,64})\\{0,3}"')
_PARAMETER = re.compile(r'\\{0,3}"param\\{0,3}":\s*\\{0,3}"([\w.\[\]]{1,128})\\{0,3}"')


def failure_of(word: str | None, text: str, *, resets: bool, codes: Iterable[str] = ()) -> Failure:
    """What a failed turn failed for. text: the CLI's own, and never what an agent or a tool has said.

    resets: it names a time at which a limit is over, as that of a workspace does, which comes as a refused request.
    codes: the API's own, where the CLI keeps them apart from the text.
    """
    found, text = WORDS.get(word or "", "other"), text[:SAID_LIMIT]
    told = STATUS.search(text)
    status = int(told[1]) if told is not None else 0
    if word == "unknown" and not resets and is_refusal(status) and status not in OF_A_SERVICE:
        found = "billing" if status == 402 else "request"
    param = _PARAMETER.search(text)
    coded = _of_codes([*codes, *codes_in(text)], param[1] if param is not None else "")
    if found in ("limit", "login") and coded == "billing":
        return coded
    if found == "overload" and (coded == "full" or (coded == "request" and says_full(text))):
        return "full"
    if found in ("overload", "other") and PASSED_ON.match(text) and says_full(text):
        return "full"
    if word == "unknown" and told is None and not resets and says_full(text):
        return "full"
    if found in ("request", "other") and coded is not None:
        found = coded
    if found in ("limit", "request", "login") and not resets and UNPAID.search(text):
        return "billing"
    if found in ("request", "length") and says_full(text):
        return "full"
    is_untold = found in ("request", "other") or (word == "unknown" and told is None)
    return "login" if is_untold and NO_LOGIN.search(text) else found


def says_full(text: str) -> bool:
    """Whether these words of a CLI or an API say that the window cannot hold the request."""
    return FULL.search(text) is not None and NO_WINDOW.search(text) is None


def codes_in(text: str) -> list[str]:
    """The codes in a body that a CLI has put into a sentence, be it in a string of another body."""
    return _CODED.findall(text)


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
    message = message[:SAID_LIMIT]
    if not resets and UNPAID.search(message):
        return "billing"
    if status in UNFIT and says_full(message):
        return "full"
    return "login" if status in UNFIT and NO_LOGIN.search(message) else coded


def parameter_in(text: str) -> bool:
    """Whether a body names a parameter of the request, and none that holds what was said."""
    param = _PARAMETER.search(text)
    return param is not None and CONTENT.search(param[1]) is None


def words_of_body(body: object) -> str:
    """A refusal's body as text: its own sentence first, then all of it. One without the form of a body says nothing."""
    if not isinstance(body, dict):
        return ""
    message = _inner(body).get("message")
    return f"{message if isinstance(message, str) else ''}\n{json.dumps(body, default=str)}"[:SAID_LIMIT]


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
