"""What the vendors' APIs say when they refuse, in each one's own words."""

from __future__ import annotations

from collections.abc import Mapping

from tests.stub.scenario import Rejection

CLAUDE: Mapping[str, Rejection] = {
    "refused key": Rejection(401, "authentication_error", "invalid x-api-key"),
    "no credit": Rejection(
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or "
        "purchase credits.",
    ),
    "unknown model": Rejection(404, "not_found_error", "model: claude-nonesuch-9"),
    "429 with a reset": Rejection(
        429,
        "rate_limit_error",
        "This request would exceed your organization's rate limit of 40,000 input tokens per minute. Please reduce "
        "the prompt length or the maximum tokens requested, or try again later.",
        retry_after=7200,
    ),
    "429 without a reset": Rejection(
        429, "rate_limit_error", "Number of request tokens has exceeded your per-minute rate limit"
    ),
    "529": Rejection(529, "overloaded_error", "Overloaded"),
    "500": Rejection(500, "api_error", "Internal server error"),
    "prompt too long": Rejection(400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
}
CODEX: Mapping[str, Rejection] = {
    "refused key": Rejection(
        401,
        "invalid_api_key",
        "Incorrect API key provided: sk-test-*ummy. You can find your API key at "
        "https://platform.openai.com/account/api-keys.",
    ),
    "no credit": Rejection(
        429,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details. For more information on this "
        "error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
    ),
    "unknown model": Rejection(
        404, "model_not_found", "The model `gpt-nonesuch` does not exist or you do not have access to it."
    ),
    "429 with a reset": Rejection(429, "usage_limit_reached", "The usage limit has been reached", retry_after=7200),
    "429 without a reset": Rejection(
        429,
        "rate_limit_exceeded",
        "Rate limit reached for gpt-5.5 in organization org-shop on tokens per min (TPM): Limit 30000, Used 29411, "
        "Requested 3120.",
    ),
    "529": Rejection(503, "server_is_overloaded", "Our servers are currently overloaded. Please try again later."),
    "500": Rejection(500, "server_error", "The server had an error while processing your request. Sorry about that!"),
    "prompt too long": Rejection(
        400,
        "context_length_exceeded",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
    ),
}
GEMINI: Mapping[str, Rejection] = {
    "refused key": Rejection(400, "API_KEY_INVALID", "API key not valid. Please pass a valid API key."),
    "no credit": Rejection(
        429,
        "RESOURCE_EXHAUSTED",
        "Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your "
        "project and billing.",
    ),
    "unknown model": Rejection(
        404,
        "NOT_FOUND",
        "models/gemini-nonesuch is not found for API version v1beta, or is not supported for generateContent. Call "
        "ListModels to see the list of available models and their supported methods.",
    ),
    "429 with a reset": Rejection(
        429,
        "GenerateRequestsPerDayPerProjectPerModel",
        "You exceeded your current quota, please check your plan and billing details.",
        retry_after=7200,
    ),
    "429 without a reset": Rejection(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    "529": Rejection(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "500": Rejection(
        500,
        "INTERNAL",
        "An internal error has occurred. Please retry or report in "
        "https://developers.generativeai.google/guide/troubleshooting",
    ),
    "prompt too long": Rejection(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).",
    ),
}
REFUSALS = {"claude": CLAUDE, "codex": CODEX, "gemini": GEMINI}

RARER: Mapping[str, Mapping[str, Rejection]] = {
    "claude": {
        "forbidden": Rejection(403, "permission_error", "Your API key does not have permission to use the model."),
        "limit of the workspace": Rejection(
            400,
            "invalid_request_error",
            "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
        ),
        "request too large": Rejection(413, "request_too_large", "Request exceeds the maximum size"),
        "prompt and answer too long": Rejection(
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or "
            "`max_tokens` and try again",
        ),
        "history with an orphaned call": Rejection(
            400,
            "invalid_request_error",
            "messages.14: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01A. Each "
            "`tool_use` block must have a corresponding `tool_result` block in the next message.",
        ),
        "schema of a tool": Rejection(
            400,
            "invalid_request_error",
            "tools.14.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12.",
        ),
        "login expired": Rejection(
            401,
            "authentication_error",
            "OAuth token has expired. Please obtain a new token or refresh your existing token.",
        ),
    },
    "codex": {
        "forbidden": Rejection(
            403, "unsupported_country_region_territory", "Country, region, or territory not supported"
        ),
        "history with an orphaned call": Rejection(
            400, "invalid_request_error", "No tool output found for function call call_7Qk2."
        ),
    },
}
"""What comes less often."""
