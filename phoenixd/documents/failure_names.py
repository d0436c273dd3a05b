"""What the code or the fixed words of a failed turn name beside its class, so that a rule can ask for a second fact.

A class alone proves little: vendors send an unpaid bill by the status of a limit, clouds a broken certificate by the
word of an outage, and gateways anything at all by 400. What is read here is a CLI's or an API's own, as in failures.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from phoenixd.core.hooks import OF_A_SERVICE, Failure, Named
from phoenixd.documents.failures import PARTS, SAID_LIMIT, codes_in, parameter_in, says_full

OF_THE_CLI = "invalid_request"
"""Claude Code's word for a request in which it has recognised by itself what is wrong; it has another for the rest."""
OF_AN_ANSWER = "max_output_tokens"
"""Claude Code's word for an answer that was cut for good, by the output limit or at the end of the window."""
SERVICE_KINDS = frozenset(
    {
        "server_overloaded", "internal_server_error", "response_stream_disconnected",
        "response_stream_connection_failed", "http_connection_failed", "UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED",
    }
)  # fmt: skip
"""What Codex and the Gemini API call a service that failed: words of a closed set each."""
ANSWERED = re.compile(r"\bAPI Error: (\d{3})\b")
"""What stands in Claude Code's sentence where the API has answered, behind what it says of a login too."""
PASSING_CODES = frozenset(
    {
        "ECONNREFUSED", "ConnectionRefused", "ENOTFOUND", "ENETUNREACH", "ENETDOWN", "EHOSTUNREACH", "EHOSTDOWN",
        "EAI_AGAIN", "FailedToOpenSocket", "ECONNRESET", "ECONNABORTED", "EPIPE", "ETIMEDOUT", "ConnectionClosed",
        "StreamSuspended", "StreamTruncated", "ERR_TLS_HANDSHAKE_TIMEOUT",
    }
)  # fmt: skip
"""The errors of a connection for which Claude Code itself says that they pass."""
RATE_CODES = frozenset(
    {
        "rate_limit_error", "rate_limit_exceeded", "RATE_LIMIT_EXCEEDED", "rateLimitExceeded", "userRateLimitExceeded",
        "too_many_requests", "ThrottlingException", "Throttling", "QUOTA_EXHAUSTED",
    }
)  # fmt: skip

CERTIFICATE = re.compile(
    r"unable to connect to api: (?:ssl|tls|self-signed)|\b(?:ssl|tls) (?:certificate|error)|self-signed certificate"
    r"|\((?:UNABLE_TO_(?:VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT\w*)|DEPTH_ZERO_SELF_SIGNED_CERT|HOSTNAME_MISMATCH"
    r"|SELF_SIGNED_CERT_IN_CHAIN|CERT_\w+|ERR_TLS_CERT_\w+|ERR_SSL_WRONG_VERSION_NUMBER)\)",
    re.IGNORECASE,
)
"""What Claude Code says of TLS; with it no wait helps."""
OUTAGE = re.compile(
    r"request timed out|repeated 529|connection lost|connection dropped|connection closed before|no response from api"
    r"|unable to connect to api\. check your internet|the api is temporarily unavailable|stream idle timeout"
    r"|connection to the api was lost|is experiencing high load|can't reach the api",
    re.IGNORECASE,
)
"""What it says of a service or a connection that failed, where it names neither status nor code."""
RATE = re.compile(
    r"rate[- ]?limit|too many (?:requests|tokens)|per[ _-]?(?:second|minute|hour|day|min)(?![a-z])"
    r"|throttl|slow down|\((?:[TR]P[MD])\)|usage limit|resource (?:has been )?exhausted",
    re.IGNORECASE,
)
"""What is said of a rate, and of a quota of some time."""
OVERSIZED = re.compile(r"request too large|tokens must be reduced", re.IGNORECASE)
"""What is said of one request that is larger than all that a minute may hold: no wait helps it."""
FOR_A_WHILE = re.compile(
    r"quota (?:\w+ )?exceeded|exceeded (?:\w+ )?quota|temporar|unusual traffic|capacity|overload", re.IGNORECASE
)
"""What a refused login does not speak of: it is refused for good."""
MONEY = re.compile(
    r"credit|billing|\bbalance|payment|\bpaid\b|unpaid|prepa|top[- ]?up|recharge|purchas|spend|budget|\bfunds\b"
    r"|arrears|overdue|suspended|subscription|insufficient|upgrade|充值|欠费|余额",
    re.IGNORECASE,
)
"""What an account is told that has to be paid for. A limit may say some of it too, which is why it only casts doubt."""
ELSEWHERE = re.compile(
    r"api[ _-]?key|credential|unauthori[sz]ed|permission|access denied|quota|billing|credit|balance|budget"
    r"|no available channel|not found|does not exist|not supported|unsupported|not implemented|no such|misconfigur"
    r"|unknown (?:model|provider)|disabled|deprecated|retired|\bregion\b|country|not included|doesn.t include"
    r"|certificate|context (?:length|window|size)|too (?:long|large)|badrequest|invalid[ _](?:request|model|param|arg)",
    re.IGNORECASE,
)
"""What an outage does not speak of. A gateway that wraps another's refusal in a 500 does."""
INVALID = re.compile(r"invalid|policy|unsupported|not supported|does not|malformed|too (?:long|large)", re.IGNORECASE)
"""What a vendor says of a request, in place of a word about a stream that broke off."""
PLACE = re.compile(
    r"(?:^|[\s'\"`:(.])(?:messages|tools|system|input|contents|tool_choice|toolConfig)(?:\.\d|\[\d|\.\w+:)"
    r"|^(?:API Error: )?(?:400 )?(?:messages|tools|system|thinking|max_tokens|temperature|top_[pk]|tool_choice|metadata"
    r"|stop_sequences|betas|model|output_config|context_management|anthropic-\w+)\b[\w.]*: ",
    re.MULTILINE,
)
"""A place in the request, as the vendors write one: `messages.7.content.0`, `tools[3].name`, `max_tokens: `."""
QUOTED = re.compile(r"`[a-z][\w.-]{2,63}`")
"""A parameter in the quotes in which vendors name one."""
LOCATED = re.compile(r'\\{0,3}"loc\\{0,3}":\s*\[')
"""How servers in Python name one."""
WRONG = re.compile(
    r"body is not valid json|blocked by content filtering policy|no tool output found for function call"
    r"|missing a thought_signature|number of function response parts|immediately after a (?:user|function)"
    r"|on-demand throughput isn.t supported|user location is not supported|unsupported mime type",
    re.IGNORECASE,
)
"""Of requests that are wrong in themselves, where the API has neither a code nor a place for it."""
MEASURE = re.compile(r"too (?:long|large|many)|exceed|limit|maximum", re.IGNORECASE)
"""Where a place is said to hold too much, the whole may be too much as well."""


def named_in(
    failure: Failure, kind: str | None, text: str, *, status: int | None = None, codes: Iterable[str] = ()
) -> Named:
    """What the words of a failed turn name. kind: the CLI's own word for it, before it was put into one vocabulary."""
    text = text[:SAID_LIMIT]
    told = ANSWERED.search(text)
    status = int(told[1]) if status is None and told is not None else status
    known = {kind or "", *codes, *codes_in(text)}
    is_rate = bool(known & RATE_CODES) or RATE.search(text) is not None
    match failure:
        case "limit" if OVERSIZED.search(text):
            return "other"
        case "limit":
            return "limit" if is_rate else "other" if MONEY.search(text) or ELSEWHERE.search(text) else ""
        case "login":
            return "other" if status != 401 and (is_rate or FOR_A_WHILE.search(text)) else ""
        case "request" if status == 413 or not kind == OF_THE_CLI:
            return "limit" if is_rate else "request" if known & PARTS or _names_a_part(text) else ""
        case "request":
            return "request"
        case "overload":
            return _of_outage(kind, text, status)
        case "full":
            return "answer" if kind == OF_AN_ANSWER else ""
        case "billing":
            return ""
        case _:
            speaks = INVALID.search(text) or ELSEWHERE.search(text) or MONEY.search(text) or says_full(text)
            return "other" if speaks else ""


def _of_outage(kind: str | None, text: str, status: int | None) -> Named:
    if status is not None:
        is_elsewhere = ELSEWHERE.search(text) or CERTIFICATE.search(text) or says_full(text)
        return "other" if is_elsewhere else "service" if status in OF_A_SERVICE else ""
    if CERTIFICATE.search(text):
        return "certificate"
    codes = re.findall(r"\((\w{4,64})\)", text)
    is_known = kind in SERVICE_KINDS or any(code in PASSING_CODES for code in codes) or OUTAGE.search(text)
    return "service" if is_known else ""


def _names_a_part(text: str) -> bool:
    if WRONG.search(text) or LOCATED.search(text) or parameter_in(text):
        return True
    place = PLACE.search(text) or QUOTED.search(text)
    return place is not None and (MEASURE.search(text) is None or "max_tokens: " in place[0])
