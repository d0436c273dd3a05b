"""What vendors, clouds and servers of open models say when they refuse, as users report it from their days at work.

The ids that stand in these words are made up.
"""

from __future__ import annotations

import json

from tests.stub.scenario import Rejection

INVALID = "invalid_request_error"


def page(status: int, title: str, server: str) -> Rejection:
    """An error page of a web server before the API."""
    told = f"<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n<hr>"
    return Rejection(status, body=f"<html>\r\n{told}<center>{server}</center>\r\n</body>\r\n</html>\r\n")


def raw(status: int, body: object) -> Rejection:
    """A body in another shape than that of the vendor whose API is asked."""
    return Rejection(status, body=body if isinstance(body, str) else json.dumps(body))


def google(status: int, word: str, message: str, reason: str = "") -> Rejection:
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com"}
    told = {"code": status, "message": message, "status": word, "details": [info] if reason else []}
    return raw(status, {"error": told})


# Of an API that speaks as Anthropic's does.
OVERLOADED_500 = Rejection(500, "api_error", "Overloaded")
REQUESTS_A_MINUTE = Rejection(
    429,
    "rate_limit_error",
    "This request would exceed the rate limit for your organization (shop) of 50 requests per minute. For details, "
    "refer to: https://docs.claude.com/en/api/rate-limits. You can contact sales to discuss a limit increase.",
)
VERTEX_EXHAUSTED = google(
    429,
    "RESOURCE_EXHAUSTED",
    "Resource exhausted. Please try again later. Please refer to "
    "https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429 for more details.",
)
BEDROCK_UNABLE = raw(503, {"message": "Bedrock is unable to process your request."})
UNKNOWN_520 = page(520, "api.shop.example | 520: Web server is returning an unknown error", "cloudflare")
BEARER = Rejection(401, "authentication_error", "Invalid bearer token")
AWS_EXPIRED = raw(403, {"message": "The security token included in the request is expired"})
NO_OAUTH = Rejection(403, "permission_error", "OAuth authentication is currently not allowed for this organization.")
EMPTY_CONTENT = Rejection(
    400,
    INVALID,
    "messages.5: all messages must have non-empty content except for the optional final assistant message",
)
TWICE_THE_SAME_TOOL = Rejection(400, INVALID, "tools: Tool names must be unique.")
BETA_HEADER = Rejection(
    400,
    INVALID,
    "Unexpected value(s) `context-management-2025-06-27` for the `anthropic-beta` header. Please consult our "
    "documentation at docs.anthropic.com or try again without the header.",
)
INSUFFICIENT_BALANCE = raw(
    402,
    {"error": {"message": "Insufficient Balance", "type": "unknown_error", "param": None, "code": INVALID}},
)
LLAMA_CPP_FULL = raw(
    400,
    {
        "error": {
            "code": 400,
            "message": "the request exceeds the available context size, try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 48213,
            "n_ctx": 32768,
        }
    },
)
MILLION_FULL = Rejection(400, INVALID, "prompt is too long: 1048590 tokens > 1000000 maximum")
KIMI_FULL = Rejection(
    400, INVALID, "Invalid request: Your request exceeded model token limit: 262144 (requested: 271903)"
)
SAYS_ERROR = Rejection(400, INVALID, "Error")
SAYS_NOTHING = raw(400, " ")

# Of an API that speaks as OpenAI's does.
UPSTREAM_FAILED = raw(502, {"error": {"message": "Upstream request failed", "type": "upstream_error"}})
GATEWAY_504 = page(504, "504 Gateway Time-out", "nginx/1.27.3")
SLOW_DOWN = Rejection(
    503,
    "slow_down",
    "Slow Down: a sudden increase in your request rate is impacting service reliability. Please reduce your request "
    "rate to its original level, keep it there for at least 15 minutes, and then increase it gradually.",
)
PROCESSING_FAILED = Rejection(
    500,
    "server_error",
    "An error occurred while processing your request. You can retry your request, or contact us through our help "
    "center at help.openai.com if the error persists. Please include the request ID req_stub_1 in your message.",
)
PLAN_WITHOUT_CODEX = Rejection(429, "usage_not_included", "Your plan does not include this usage.")
ITEM_NOT_FOUND = Rejection(
    404,
    INVALID,
    "Item with id 'rs_0a1b2c3d' not found. Items are not persisted when `store` is set to false. Try again with "
    "`store` set to true, or remove this item from your input.",
)
EFFORT = Rejection(
    400,
    "unsupported_value",
    "Unsupported value: 'xhigh' is not supported with the 'gpt-5.5' model. Supported values are: 'low', 'medium', and "
    "'high'.",
)
PROJECT_WITHOUT_MODEL = Rejection(403, "model_not_found", "Project `proj_shop` does not have access to model `gpt-5.5`")
ENCRYPTED = Rejection(
    400,
    "invalid_encrypted_content",
    "The encrypted content for item rs_0a1b2c3d could not be verified. Reason: Encrypted content could not be "
    "decrypted or parsed.",
)
NO_BEARER = raw(
    401,
    {
        "error": {
            "message": "Missing bearer or basic authentication in header",
            "type": INVALID,
            "param": None,
            "code": None,
        }
    },
)
CONFIGURED_LIMIT = Rejection(
    400,
    "context_length_exceeded",
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 290112 tokens. Please reduce "
    "the length of the messages.",
)
BAD_REQUEST = raw(400, {"detail": "Bad Request"})

# Of Gemini.
CANCELLED_499 = google(499, "CANCELLED", "The operation was cancelled.")
INTERNAL = google(500, "INTERNAL", "Internal error encountered.")
BILLING_OFF = google(
    403,
    "PERMISSION_DENIED",
    "This API method requires billing to be enabled. Please enable billing on project #1004 by visiting "
    "https://console.developers.google.com/billing/enable?project=1004 then retry. If you enabled billing for this "
    "project recently, wait a few minutes for the action to propagate to our systems and retry.",
    "BILLING_DISABLED",
)
NO_SIGNATURE = google(
    400,
    "INVALID_ARGUMENT",
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "
    "and missing thought_signature may lead to degraded model performance. Additional data, function call "
    "`default_api:run_shell_command` , position 2.",
)
BARE_ARGUMENT = google(400, "INVALID_ARGUMENT", "Request contains an invalid argument.")
GEMINI_FULL = google(
    400, "INVALID_ARGUMENT", "The input token count exceeds the maximum number of tokens allowed 1048576."
)
VERTEX_FULL = google(
    400,
    "INVALID_ARGUMENT",
    "Unable to submit request because the input token count is 1191021 but model only supports up to 1048576. Reduce "
    "the input token count and try again.",
)
