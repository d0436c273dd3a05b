"""What vendors, clouds and gateways say in other words than those that are well known, each in its own shape."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.stub.scenario import Rejection

INVALID = "invalid_request_error"


def page(status: int, title: str, server: str = "nginx") -> Rejection:
    """An error page of a web server before the API."""
    head = f"<html>\r\n<head><title>{status} {title}</title></head>\r\n<body>\r\n"
    return Rejection(
        status, body=f"{head}<center><h1>{status} {title}</h1></center>\r\n<hr><center>{server}</center>\r\n</body>"
        "\r\n</html>\r\n",
    )  # fmt: skip


def raw(status: int, body: object) -> Rejection:
    return Rejection(status, body=body if isinstance(body, str) else json.dumps(body))


def google(status: int, word: str, message: str, reason: str = "") -> Rejection:
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com"}
    told = {"code": status, "message": message, "status": word, "details": [info] if reason else []}
    return raw(status, {"error": told})


CLAUDE: Mapping[str, tuple[str, Rejection]] = {
    "organization disabled": ("headless", Rejection(400, INVALID, "This organization has been disabled.")),
    "token revoked": (
        "terminal",
        Rejection(403, "permission_error", "OAuth token has been revoked. Please obtain a new token."),
    ),
    "too long for Bedrock": ("headless", raw(400, {"message": "Input is too long for requested model."})),
    "throttled by Bedrock": ("terminal", raw(429, {"message": "Too many requests, please wait before trying again."})),
    "model denied by Bedrock": (
        "headless",
        raw(403, {"message": "You don't have access to the model with the specified model ID."}),
    ),
    "quota of Vertex": (
        "terminal",
        raw(
            429,
            {
                "error": {
                    "code": 429,
                    "message": "Quota exceeded for aiplatform.googleapis.com/"
                    "online_prediction_input_tokens_per_minute_per_base_model with base model: anthropic-claude-opus. "
                    "Please submit a quota increase request.",
                    "status": "RESOURCE_EXHAUSTED",
                }
            },
        ),
    ),
    "502 in HTML": ("headless", page(502, "Bad Gateway", "cloudflare")),
    "503 of Envoy": (
        "terminal",
        raw(
            503,
            "upstream connect error or disconnect/reset before headers. reset reason: connection termination",
        ),
    ),
    "504 in HTML": ("terminal", page(504, "Gateway Time-out")),
    "524 of Cloudflare": ("headless", raw(524, "error code: 524")),
    "404 of a gateway": ("terminal", page(404, "Not Found")),
    "402 of OpenRouter": (
        "headless",
        raw(
            402,
            {
                "error": {
                    "message": "This request requires more credits, or fewer max_tokens. You requested up to 32000 "
                    "tokens, but can only afford 2931. To increase, visit https://openrouter.ai/settings/credits and "
                    "upgrade to a paid account",
                    "code": 402,
                }
            },
        ),
    ),
    "budget of LiteLLM": (
        "terminal",
        raw(
            400,
            {
                "error": {
                    "message": "Budget has been exceeded! Current cost: 26.08, Max budget: 25.0",
                    "type": "budget_exceeded",
                    "param": None,
                    "code": "400",
                }
            },
        ),
    ),
    "407 of a proxy": ("headless", page(407, "Proxy Authentication Required", "squid")),
    "output above the cap": (
        "headless",
        Rejection(
            400,
            INVALID,
            "max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens for claude-opus-4-5",
        ),
    ),
    "image too large": (
        "terminal",
        Rejection(
            400,
            INVALID,
            "messages.3.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
        ),
    ),
    "changed thoughts": (
        "headless",
        Rejection(
            400,
            INVALID,
            "messages.7.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
            "modified. These blocks must remain as they were in the original response.",
        ),
    ),
    "half a surrogate": (
        "terminal",
        Rejection(
            400,
            INVALID,
            "The request body is not valid JSON: no low surrogate in string: line 1 column 58172 (char 58171)",
        ),
    ),
    "blocked by policy": ("terminal", Rejection(400, INVALID, "Output blocked by content filtering policy")),
    "acceleration limit": (
        "headless",
        Rejection(
            429,
            "rate_limit_error",
            "This request would exceed your organization's maximum usage increase rate for input tokens per minute. "
            "Please scale up your input tokens usage more gradually to stay within the acceleration limits.",
            retry_after=2,
        ),
    ),
    "408": ("terminal", Rejection(408, "timeout_error", "Request timed out")),
}
CODEX: Mapping[str, tuple[str, Rejection]] = {
    "organization not verified": (
        "headless",
        Rejection(
            404,
            "model_not_found",
            "Your organization must be verified to use the model `gpt-5.5`. Please go to: "
            "https://platform.openai.com/settings/organization/general and click on Verify Organization.",
        ),
    ),
    "502 in HTML": ("terminal", page(502, "Bad Gateway", "cloudflare")),
    "503 in HTML": ("headless", page(503, "Service Temporarily Unavailable")),
    "404 of a gateway": ("headless", page(404, "Not Found")),
    "413 in HTML": ("headless", page(413, "Request Entity Too Large")),
    "login revoked": (
        "terminal",
        Rejection(
            401,
            "refresh_token_invalidated",
            "Your session has ended. Please log out and sign in again.",
        ),
    ),
    "model of another plan": (
        "headless",
        raw(400, {"detail": "The 'gpt-5.5' model is not supported when using Codex with a ChatGPT account."}),
    ),
    "schema of a tool": (
        "terminal",
        Rejection(
            400,
            "invalid_function_parameters",
            "Invalid schema for function 'mcp__shop__stock': In context=(), object schema missing properties.",
        ),
    ),
    "flagged prompt": (
        "headless",
        Rejection(
            400,
            "invalid_prompt",
            "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with "
            "a different prompt.",
        ),
    ),
    "workspace deactivated": ("terminal", raw(402, {"detail": {"code": "deactivated_workspace"}})),
}
GEMINI: Mapping[str, tuple[str, Rejection]] = {
    "service disabled": (
        "headless",
        google(
            403,
            "PERMISSION_DENIED",
            "Generative Language API has not been used in project 1004 before or it is disabled. Enable it by visiting "
            "https://console.developers.google.com/apis/api/generativelanguage.googleapis.com/overview then retry.",
            "SERVICE_DISABLED",
        ),
    ),
    "key expired": (
        "headless",
        google(400, "INVALID_ARGUMENT", "API key expired. Please renew the API key.", "API_KEY_INVALID"),
    ),
    "region": ("terminal", google(400, "FAILED_PRECONDITION", "User location is not supported for the API use.")),
    "history out of order": (
        "headless",
        google(
            400,
            "INVALID_ARGUMENT",
            "Please ensure that function call turn comes immediately after a user turn or after a function response "
            "turn.",
        ),
    ),
    "payload too large": (
        "headless",
        google(400, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 20971520 bytes."),
    ),
    "502 in HTML": ("headless", page(502, "Bad Gateway")),
    "deadline": ("headless", google(504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete.")),
    "leaked key": (
        "terminal",
        google(403, "PERMISSION_DENIED", "Your API key was reported as leaked. Please use another API key."),
    ),
    "quota of a minute": (
        "headless",
        Rejection(
            429,
            "GenerateRequestsPerMinutePerProjectPerModel",
            "You exceeded your current quota, please check your plan and billing details.",
            retry_after=2,
        ),
    ),
}
REFUSALS = {"claude": CLAUDE, "codex": CODEX, "gemini": GEMINI}

LATE: Mapping[str, Mapping[str, tuple[str, Rejection]]] = {
    "claude": {
        "overload in the stream": ("headless", Rejection(529, "overloaded_error", "Overloaded")),
        "server error in the stream": ("terminal", Rejection(500, "api_error", "Internal server error")),
    },
    "codex": {
        "limit in the stream": (
            "headless",
            Rejection(
                429,
                "rate_limit_exceeded",
                "Rate limit reached for gpt-5.5 in organization org-shop on tokens per min (TPM): Limit 500000, Used "
                "500000, Requested 12000. Please try again in 1.44s.",
            ),
        ),
        "quota in the stream": (
            "terminal",
            Rejection(429, "insufficient_quota", "You exceeded your current quota, please check your plan."),
        ),
    },
    "gemini": {
        "overload in the stream": ("headless", Rejection(503, "UNAVAILABLE", "The service is currently unavailable.")),
    },
}
"""Said in a stream that has begun."""
