"""A stand-in for the OpenAI Responses API, as Codex asks it. By hand: python -m tests.stub.responses --port 0."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from tests.stub.recorded import Kind, RecordedRequest
from tests.stub.scenario import Rejection, Step, Stop, Usage
from tests.stub.server import ApiStub, Reply, main

_METADATA = "x-codex-turn-metadata"
_REASONS: dict[Stop, str] = {"output_limit": "max_output_tokens", "filtered": "content_filter"}
_FREEFORM = frozenset({"exec", "apply_patch"})
"""Tools that take a text instead of arguments: the newest models' one tool, and patches."""


class ResponsesRequest(RecordedRequest):
    """One request of Codex; its newest text is a prompt or a tool's output."""

    @property
    def is_message(self) -> bool:
        return self.method == "POST" and self.path.split("?")[0] == "/v1/responses"

    @property
    def kind(self) -> Kind:
        told = self.turn
        if not self.is_message or told.get("thread_source") not in (None, "user"):
            # Titles are asked for in a thread of their own, with the same tools.
            return "subagent" if told.get("thread_source") == "subagent" else "side"
        return "compaction" if told.get("request_kind") == "compaction" else "main"

    @property
    def turn(self) -> dict[str, Any]:
        """What the CLI says of the turn that this request belongs to."""
        told = json.loads(self.headers.get(_METADATA, "{}"))
        return told if isinstance(told, dict) else {}

    @property
    def session_id(self) -> str | None:
        return self.headers.get("session-id")

    @property
    def text(self) -> str:
        for item in reversed(_items(self.body)):
            if str(item.get("type")).endswith("_call_output") or item.get("role") == "user":
                return "\n".join(_texts(item))
        return ""

    @property
    def whole_text(self) -> str:
        said = (text for item in _items(self.body) for text in _texts(item))
        return "\n".join([str(self.body.get("instructions", "")), *said])


class Responses:
    """The Responses API."""

    request = ResponsesRequest

    def whole(self, request: RecordedRequest, step: Step, usage: Usage) -> bytes:
        return json.dumps(_response(request, _output(request, step), step.usage or usage)).encode()

    def events(self, request: RecordedRequest, step: Step, usage: Usage) -> Iterator[bytes]:
        opened = {**_response(request, [], usage), "status": "in_progress", "usage": None}
        yield _event("response.created", response=opened)
        output = _output(request, step)
        for index, item in enumerate(output):
            if item["type"] == "message":
                begun = {**item, "status": "in_progress", "content": []}
                yield _event("response.output_item.added", output_index=index, item=begun)
                is_cut = step.fault == "end_mid_block"
                said = step.text[: len(step.text) // 2] if is_cut else step.text
                delta = {"item_id": item["id"], "content_index": 0, "delta": said}
                yield _event("response.output_text.delta", output_index=index, **delta)
            elif step.fault == "end_mid_block":
                begun = {**item, "status": "in_progress", "arguments": "", "input": ""}
                yield _event("response.output_item.added", output_index=index, item=begun)
            if step.fault == "end_mid_block":
                return
            yield _event("response.output_item.done", output_index=index, item=item)
            if step.fault == "end_after_block":
                return
        response = _response(request, output, step.usage or usage)
        if step.stop == "window":
            error = {"code": "context_length_exceeded", "message": "Your input exceeds the context window"}
            yield _event("response.failed", response={**response, "status": "failed", "error": error})
        elif step.stop is not None:
            details = {"status": "incomplete", "incomplete_details": {"reason": _REASONS[step.stop]}}
            yield _event("response.incomplete", response={**response, **details})
        else:
            yield _event("response.completed", response=response)

    def streams(self, request: RecordedRequest) -> bool:
        return bool(request.body.get("stream"))

    def error(self, rejection: Rejection) -> tuple[dict[str, str], bytes]:
        wait = rejection.retry_after
        refused: dict[str, Any] = {"type": rejection.type, "code": rejection.type, "message": rejection.message}
        if rejection.type == "usage_limit_reached" and wait is not None:
            refused |= {"plan_type": "pro", "resets_at": int(time.time() + wait)}
        headers = {} if wait is None else {"retry-after": f"{wait:g}"}
        return headers, json.dumps({"error": refused}).encode()

    def late(self, rejection: Rejection) -> bytes:
        error = {"code": rejection.type, "message": rejection.message}
        return _event("response.failed", response={"id": "resp_stub", "status": "failed", "error": error})

    def aside(self, request: RecordedRequest) -> Reply:
        if request.method == "GET" and request.path.split("?")[0] == "/v1/models":
            return 200, {}, b'{"object": "list", "data": [], "models": []}'
        return 404, {}, b'{"error": {"message": "the stub serves responses only"}}'


class ResponsesStub(ApiStub):
    dialect = Responses()

    @property
    def base_url(self) -> str:
        return f"{super().base_url}/v1"


def _items(body: dict[str, Any]) -> list[dict[str, Any]]:
    given = body.get("input")
    return [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []


def _texts(item: dict[str, Any]) -> Iterable[str]:
    content = item.get("content", item.get("output", ""))
    if isinstance(content, str):
        return [content]
    return [str(part.get("text", "")) for part in content if isinstance(part, dict)]


def _output(request: RecordedRequest, step: Step) -> list[dict[str, Any]]:
    number = request.number
    said = {"type": "output_text", "text": step.text, "annotations": []}
    message = {"id": f"msg_stub_{number}", "type": "message", "status": "completed", "role": "assistant"}
    output: list[dict[str, Any]] = [{**message, "content": [said]}] if step.text else []
    for index, tool in enumerate(step.tool_use):
        call = {"id": f"fc_stub_{number}_{index}", "call_id": f"call_stub_{number}_{index}", "status": "completed"}
        if tool.name in _FREEFORM:
            output.append({"type": "custom_tool_call", **call, "name": tool.name, "input": tool.input["input"]})
        else:
            output.append({"type": "function_call", **call, "name": tool.name, "arguments": json.dumps(tool.input)})
    return output


def _response(request: RecordedRequest, output: list[dict[str, Any]], usage: Usage) -> dict[str, Any]:
    asked = max(1, len(request.whole_text) // 4) if usage.input_tokens is None else usage.input_tokens
    cached = usage.cache_read_input_tokens
    return {
        "id": f"resp_stub_{request.number}",
        "object": "response",
        "created_at": int(request.at),
        "status": "completed",
        "model": request.body.get("model", "stub"),
        "output": output,
        # Unlike the Messages API's, this input holds the cached part.
        "usage": {
            "input_tokens": asked + cached,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": usage.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": asked + cached + usage.output_tokens,
        },
    }


def _event(kind: str, **data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


if __name__ == "__main__":
    sys.exit(main(ResponsesStub))
