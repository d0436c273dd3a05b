"""What vendors, clouds and gateways say when they refuse, each in its own shape, as it is met in the field.

The ids that stand in these words are made up.
"""

from __future__ import annotations

from tests.eval_clinic.everyday_words import INVALID, google, page, raw
from tests.stub.scenario import Rejection


def litellm(status: int, message: str, kind: str | None = None, param: str | None = None) -> Rejection:
    """A gateway that speaks all dialects, and wraps what stands behind it."""
    return raw(status, {"error": {"message": message, "type": kind, "param": param, "code": str(status)}})


def openrouter(status: int, message: str, said: str = "", provider: str = "") -> Rejection:
    error: dict[str, object] = {"message": message, "code": status}
    if said:
        error["metadata"] = {"raw": said, "provider_name": provider}
    return raw(status, {"error": error, "user_id": "user_2shop"})


def azure(status: int, code: str, message: str) -> Rejection:
    return raw(status, {"error": {"code": code, "message": message}})


# Who asks, and who pays.
LITELLM_KEY = litellm(
    401,
    "Authentication Error, Invalid proxy server token passed. Received API Key = sk-...ummy, Key Hash (Token) "
    "=3fb2. Unable to find token in cache or `LiteLLM_VerificationTokenTable`",
    "token_not_found_in_db",
    "key",
)
CREDENTIALS = Rejection(401, "authentication_error", "Invalid authentication credentials")
AZURE_KEY = azure(
    401,
    "401",
    "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an "
    "active subscription and use a correct regional API endpoint for your resource.",
)
KEYS_UNSUPPORTED = google(
    401,
    "UNAUTHENTICATED",
    "API keys are not supported by this API. Expected OAuth2 access token or other authentication credentials that "
    "assert a principal. See https://cloud.google.com/docs/authentication",
    "CREDENTIALS_MISSING",
)
REFRESH_REUSED = Rejection(
    401,
    "refresh_token_reused",
    "Your refresh token has already been used to generate a new access token. Please try signing in again.",
)
REFERRER = google(
    403, "PERMISSION_DENIED", "Requests from referer <empty> are blocked.", "API_KEY_HTTP_REFERRER_BLOCKED"
)
CREDIT = Rejection(
    400,
    INVALID,
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase "
    "credits.",
)
ROUTER_CREDIT = openrouter(402, "Insufficient credits. Add more using https://openrouter.ai/settings/credits")
SPENDING_CAP = google(
    429,
    "RESOURCE_EXHAUSTED",
    "Your project has exceeded its monthly spending cap. Please go to AI Studio at https://ai.studio/spend to manage "
    "your project spend cap. Learn more at https://ai.google.dev/gemini-api/docs/billing#project-spend-caps.",
)
SUSPENDED = google(
    403, "PERMISSION_DENIED", "Permission denied: Consumer 'project:1004' has been suspended.", "CONSUMER_SUSPENDED"
)
VERTEX_DENIED = google(
    403,
    "PERMISSION_DENIED",
    "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/shop/locations/"
    "global/publishers/anthropic/models/claude-opus-4-8' (or it may not exist).",
    "IAM_PERMISSION_DENIED",
)

# Which model.
LITELLM_MODEL = litellm(
    400,
    "/v1/messages: Invalid model name passed in model=claude-opus-4-8. Call `/v1/models` to view available models for "
    "your key.",
    INVALID,
    "model",
)
BEDROCK_MODEL = raw(400, {"message": "The provided model identifier is invalid."})
BEDROCK_ON_DEMAND = raw(
    400,
    {
        "message": "Invocation of model ID anthropic.claude-opus-4-8-v1:0 with on-demand throughput isn't supported. "
        "Retry your request with the ID or ARN of an inference profile that contains this model."
    },
)
VERTEX_REGION = google(
    400,
    "FAILED_PRECONDITION",
    "Publisher Model `projects/shop/locations/us-east1/publishers/anthropic/models/claude-opus-4-8` is not servable in "
    "region us-east1.",
)
VERTEX_MODEL = google(
    404,
    "NOT_FOUND",
    "Publisher Model `projects/shop/locations/us-central1/publishers/google/models/gemini-nonesuch` was not found or "
    "your project does not have access to it. Please ensure you are using a valid model version.",
)
AZURE_DEPLOYMENT = azure(
    404,
    "DeploymentNotFound",
    "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, "
    "please wait a moment and try again.",
)
UNSUPPORTED_MODEL = Rejection(400, "model_not_supported", "The requested model is not supported.")

# Limits.
ACCOUNT_LIMIT = Rejection(
    429, "rate_limit_error", "This request would exceed your account's rate limit. Please try again later.", 3600
)
USAGE_LIMIT = Rejection(429, "usage_limit_reached", "The usage limit has been reached", retry_after=10_800)
DAILY_FREE = Rejection(
    429,
    "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, "
    "head to: https://ai.google.dev/gemini-api/docs/rate-limits. \n* Quota exceeded for metric: generativelanguage."
    "googleapis.com/generate_content_free_tier_requests, limit: 250, model: gemini-3-pro\nPlease retry in 11h24m2s.",
    retry_after=41_042,
)
BEDROCK_TOKENS = raw(429, {"message": "Too many tokens, please wait before trying again."})
ROUTER_LIMITED = openrouter(
    429,
    "Provider returned error",
    "openai/gpt-5.5 is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your "
    "rate limits: https://openrouter.ai/settings/integrations",
    "OpenAI",
)
LITELLM_COOLDOWN = litellm(
    429,
    "No deployments available for selected model, Try again in 5 seconds. Passed model=claude-opus-4-8. "
    "pre-call-checks=False, cooldown_list=['b2c1']",
    "None",
    "None",
)
AZURE_TOKENS = azure(
    429,
    "too_many_requests",
    "Requests to the Responses_Create Operation under Azure OpenAI API version 2025-04-01-preview have exceeded token "
    "rate limit of your current AIServices S0 pricing tier. Please retry after 58 seconds.",
)

# Trouble of the service.
OVERLOADED = Rejection(529, "overloaded_error", "Overloaded")
HIGH_DEMAND = google(
    503,
    "UNAVAILABLE",
    "This model is currently experiencing high demand. Spikes in demand are usually temporary. Please try again later.",
)
AT_CAPACITY = Rejection(
    503, "server_is_overloaded", "Selected model is at capacity. Please try a different model or try again later."
)
LITELLM_INTERNAL = litellm(
    500,
    'litellm.InternalServerError: AnthropicException - {"type":"error","error":{"type":"api_error",'
    '"message":"Internal server error"}}. Received Model Group=claude-opus-4-8\nAvailable Model Group '
    "Fallbacks=None",
)
AZURE_INTERNAL = azure(
    500, "InternalServerError", "The server had an error processing your request. Sorry about that! You can retry it."
)
INTERNAL = google(
    500,
    "INTERNAL",
    "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/"
    "troubleshooting",
)
DOWN_521 = page(521, "api.shop.example | 521: Web server is down", "cloudflare")

# Too long.
LITELLM_FULL = litellm(
    400,
    'litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicError - {"type":"error","error":'
    '{"type":"invalid_request_error","message":"prompt is too long: 214022 tokens > 200000 maximum"}}',
)
VLLM_FULL = raw(
    400,
    {
        "object": "error", "type": "BadRequestError", "param": None, "code": 400,
        "message": "This model's maximum context length is 131072 tokens. However, your messages resulted in 140233 "
        "tokens. Please reduce the length of the messages.",
    },
)  # fmt: skip
ROUTER_FULL = openrouter(
    400,
    "This endpoint's maximum context length is 200000 tokens. However, you requested about 212904 tokens (180904 of "
    'text input, 32000 in the output). Please reduce the length of either one, or use the "middle-out" transform to '
    "compress your prompt automatically.",
)
BEDROCK_FULL = raw(400, {"message": "Input is too long for requested model."})
AZURE_FULL = azure(
    400,
    "context_length_exceeded",
    "This model's maximum context length is 272000 tokens. However, your messages resulted in 281220 tokens. Please "
    "reduce the length of the messages.",
)
GEMINI_FULL = google(
    400,
    "INVALID_ARGUMENT",
    "The input token count (1203311) exceeds the maximum number of tokens allowed (1048576).",
)
ENTITY_413 = page(413, "413 Request Entity Too Large", "nginx/1.27.3")

# What was sent, or how it was set up.
MANY_IMAGES = Rejection(
    400,
    INVALID,
    "messages.9.content.27.image.source.base64.data: At least one of the image dimensions exceed max allowed size for "
    "many-image requests: 2000 pixels",
)
SIGNATURE = Rejection(400, INVALID, "messages.1.content.0: Invalid `signature` in `thinking` block")
BUDGET = Rejection(
    400,
    INVALID,
    "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
    "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size",
)
RETENTION = Rejection(
    400,
    "unsupported_parameter",
    "Previous response cannot be used for this organization due to Zero Data Retention.",
)
TOO_MANY_TOOLS = Rejection(
    400,
    "array_above_max_length",
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 141 "
    "instead.",
)
AZURE_FILTERED = azure(
    400,
    "content_filter",
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify "
    "your prompt and retry. To learn more about our content filtering policies please read our documentation: "
    "https://go.microsoft.com/fwlink/?linkid=2198766",
)
FIREWALL = raw(
    403,
    '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN" "http://www.w3.org/TR/html4/loose.dtd">\n<HTML>'
    "<HEAD><TITLE>ERROR: The request could not be satisfied</TITLE></HEAD><BODY>\n<H1>403 ERROR</H1>\n<H2>The request "
    "could not be satisfied.</H2>\nRequest blocked. We can't connect to the server for this app or website at this "
    "time.\nGenerated by cloudfront (CloudFront)\n</BODY></HTML>\n",
)
