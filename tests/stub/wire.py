"""Replies in the Messages API's own shapes: one JSON message, the same as server-sent events, and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.stub.recorded import RecordedRequest
from tests.stub.scenario import Fault, Rejection, Step, Stop, Usage

Message = dict[str, Any]
STOPS: dict[Stop, str] = {
    "output_limit": "max_tokens", "window": "model_context_window_exceeded", "filtered": "refusal",
}  # fmt: skip


def message_of(request: RecordedRequest, step: Step, usage: Usage) -> Message:
    content: list[dict[str, Any]] = [{"type": "text", "text": step.text}] if step.text else []
    for index, tool in enumerate(step.tool_use):
        tool_id = f"toolu_stub_{request.number}_{index}"
        content.append({"type": "tool_use", "id": tool_id, "name": tool.name, "input": tool.input})
    return {
        "id": f"msg_stub_{request.number}",
        "type": "message",
        "role": "assistant",
        "model": request.body.get("model", "stub"),
        "content": content,
        "stop_reason": STOPS[step.stop] if step.stop else "tool_use" if step.tool_use else "end_turn",
        "stop_sequence": None,
        "usage": _counts(request, step.usage or usage),
    }


def events_of(message: Message, fault: Fault | None = None) -> Iterator[bytes]:
    """The message as the API streams it; each item is one complete server-sent event."""
    opening = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield _event("message_start", message=opening)
    start: dict[str, Any]
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield _event("content_block_start", index=index, content_block=start)
        if fault == "end_mid_block":
            yield _event("content_block_delta", index=index, delta={key: _half(key, of) for key, of in delta.items()})
            return
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
        if fault == "end_after_block":
            return
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=ending, usage=message["usage"])
    yield _event("message_stop")


def _half(key: str, value: str) -> str:
    return value if key == "type" else value[: len(value) // 2]


def error_body(rejection: Rejection) -> bytes:
    return json.dumps({"type": "error", "error": {"type": rejection.type, "message": rejection.message}}).encode()


def estimated_tokens(request: RecordedRequest) -> int:
    return max(1, len(request.whole_text) // 4)


def _counts(request: RecordedRequest, usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": estimated_tokens(request) if usage.input_tokens is None else usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "output_tokens": usage.output_tokens,
    }


def _event(kind: str, **data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()
