"""A stand-in for the Gemini API. By hand: python -m tests.stub.generate_content --port 0."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from tests.stub.recorded import Kind, RecordedRequest
from tests.stub.scenario import Rejection, Step, Stop, Usage
from tests.stub.server import ApiStub, Reply, main

_METHOD = re.compile(r"/v1(?:beta|alpha)?/models/([^/:?]+):(\w+)")
_STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
           429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}  # fmt: skip
_FINISHED: dict[Stop | None, str] = {
    None: "STOP", "output_limit": "MAX_TOKENS", "window": "MAX_TOKENS", "filtered": "SAFETY",
}  # fmt: skip
_TYPES = "type.googleapis.com/google.rpc"


class GenerateRequest(RecordedRequest):
    """One request of the Gemini CLI. It names no session."""

    @property
    def is_message(self) -> bool:
        return self.method == "POST" and self._method in ("generateContent", "streamGenerateContent")

    @property
    def model(self) -> str:
        found = _METHOD.search(self.path)
        return found[1] if found else ""

    @property
    def kind(self) -> Kind:
        if not self.is_message or not self.body.get("tools"):
            return "compaction" if "<state_snapshot>" in self.whole_text else "side"
        return "main"

    @property
    def session_id(self) -> str | None:
        return None

    @property
    def text(self) -> str:
        for content in reversed(self.body.get("contents", [])):
            if content.get("role") in ("user", "function", None):
                return "\n".join(_texts(content))
        return ""

    @property
    def whole_text(self) -> str:
        contents = [self.body.get("systemInstruction") or {}, *self.body.get("contents", [])]
        return "\n".join(text for content in contents for text in _texts(content))

    @property
    def _method(self) -> str:
        found = _METHOD.search(self.path)
        return found[2] if found else ""


class GenerateContent:
    """generateContent, streamGenerateContent and countTokens."""

    request = GenerateRequest

    def whole(self, request: RecordedRequest, step: Step, usage: Usage) -> bytes:
        finished = _FINISHED[step.stop]
        return json.dumps(_reply(request, _parts(request, step), step.usage or usage, finished)).encode()

    def events(self, request: RecordedRequest, step: Step, usage: Usage) -> Iterator[bytes]:
        parts = _parts(request, step)
        if step.fault in ("end_mid_block", "end_after_block"):
            # An answer has no blocks here: it is a text without the word that ends it.
            cut = len(step.text) // 2 if step.fault == "end_mid_block" else None
            yield _event(_reply(request, [{"text": step.text[:cut]}], step.usage or usage, None))
            return
        # Three events at least, so that a fault can come in their middle.
        for part in ({"text": ""}, {"text": ""}, *parts):
            yield _event(_reply(request, [part], step.usage or usage, None))
        yield _event(_reply(request, [{"text": ""}], step.usage or usage, _FINISHED[step.stop]))

    def streams(self, request: RecordedRequest) -> bool:
        return ":streamGenerateContent" in request.path

    def error(self, rejection: Rejection) -> tuple[dict[str, str], bytes]:
        wait = rejection.retry_after
        details: list[dict[str, Any]] = []
        if wait is not None:
            details.append({"@type": f"{_TYPES}.RetryInfo", "retryDelay": f"{wait:g}s"})
        if rejection.type.startswith("GenerateRequests"):
            violation = {"quotaMetric": "generate_content_free_tier_requests", "quotaId": rejection.type}
            details.insert(0, {"@type": f"{_TYPES}.QuotaFailure", "violations": [violation]})
        status = _STATUS.get(rejection.status, "UNKNOWN")
        refused = {"code": rejection.status, "message": rejection.message, "status": status, "details": details}
        return {}, json.dumps({"error": refused}).encode()

    def late(self, rejection: Rejection) -> bytes:
        return b"data: " + self.error(rejection)[1] + b"\r\n\r\n"

    def aside(self, request: RecordedRequest) -> Reply:
        if ":countTokens" in request.path:
            return 200, {}, json.dumps({"totalTokens": _tokens(request)}).encode()
        return 404, {}, b'{"error": {"code": 404, "message": "the stub generates content only", "status": "NOT_FOUND"}}'


class GenerateContentStub(ApiStub):
    dialect = GenerateContent()


def _texts(content: Any) -> Iterable[str]:
    found = []
    for part in content.get("parts", []) if isinstance(content, dict) else []:
        if "text" in part:
            found.append(str(part["text"]))
        elif "functionResponse" in part:
            found.append(json.dumps(part["functionResponse"].get("response", {}), ensure_ascii=False))
    return found


def _parts(request: RecordedRequest, step: Step) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"text": step.text}] if step.text else []
    for index, tool in enumerate(step.tool_use):
        call = {"id": f"call_stub_{request.number}_{index}", "name": tool.name, "args": tool.input}
        parts.append({"functionCall": call})
    return parts


def _reply(request: RecordedRequest, parts: list[dict[str, Any]], usage: Usage, finish: str | None) -> dict[str, Any]:
    asked = _tokens(request) if usage.input_tokens is None else usage.input_tokens
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    cached = usage.cache_read_input_tokens
    return {
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": asked + cached,
            "cachedContentTokenCount": cached,
            "candidatesTokenCount": usage.output_tokens,
            "totalTokenCount": asked + cached + usage.output_tokens,
        },
        "modelVersion": getattr(request, "model", "stub"),
        "responseId": f"resp-stub-{request.number}",
    }


def _tokens(request: RecordedRequest) -> int:
    return max(1, len(request.whole_text) // 4)


def _event(data: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(data)}\r\n\r\n".encode()


if __name__ == "__main__":
    sys.exit(main(GenerateContentStub))
