"""Lines as Claude Code writes them, made for one test."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SESSION = HERE / "claude-session.jsonl"
AFTER_CLEAR = HERE / "claude-after-clear.jsonl"
CODEX_SESSION = HERE / "codex-session.jsonl"
GEMINI_SESSION = HERE / "gemini-session.jsonl"

_clock = itertools.count()


def claude(kind: str, **more: Any) -> bytes:
    """One line, newline and all, its keys in the CLI's order."""
    second = next(_clock)
    at = f"2026-11-21T{10 + second // 3600 % 12:02}:{second // 60 % 60:02}:{second % 60:02}.000Z"
    record = {"parentUuid": None, "isSidechain": False, "type": kind}
    if "message" in more:
        record["message"] = more.pop("message")
    record |= {"uuid": f"{second:08x}-0000-4000-8000-000000000000", "timestamp": at, **more}
    record.setdefault("sessionId", "s-1")
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def hook_ran(call: str) -> bytes:
    """What the CLI writes down of each hook that ran, its keys in its own order."""
    record = json.loads(claude("attachment"))
    parent, sidechain = record.pop("parentUuid"), record.pop("isSidechain")
    attached = {"type": "hook_success", "hookName": "PreToolUse:Bash", "toolUseID": call, "stdout": "{}"}
    made = {"parentUuid": parent, "isSidechain": sidechain, "attachment": attached, **record}
    return json.dumps(made, separators=(",", ":")).encode() + b"\n"


def prompt(text: str, **more: Any) -> bytes:
    return claude("user", message={"role": "user", "content": text}, **more)


def answer(text: str = "So be it.", request: str = "r-1", cached: int = 1000, **more: Any) -> bytes:
    usage = {"input_tokens": 3, "cache_read_input_tokens": cached, "cache_creation_input_tokens": 20}
    message = {
        "id": f"m-{request}",
        "model": "claude-opus-4-8",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "usage": {**usage, "output_tokens": 40},
    }
    return claude("assistant", message={**message, **more.pop("message", {})}, requestId=request, **more)


def tool_use(call: str, name: str = "Bash", request: str = "r-1", **given: Any) -> bytes:
    content = [{"type": "tool_use", "id": call, "name": name, "input": given}]
    return answer(request=request, message={"content": content, "stop_reason": "tool_use"})


def tool_result(call: str, text: str = "", failed: bool = False, **more: Any) -> bytes:
    content = [{"tool_use_id": call, "type": "tool_result", "content": text, "is_error": failed}]
    return claude("user", message={"role": "user", "content": content}, **more)


def api_error(kind: str, text: str, status: int = 429) -> bytes:
    usage = {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message = {"model": "<synthetic>", "content": [{"type": "text", "text": text}], "usage": usage}
    return claude("assistant", message=message, error=kind, isApiErrorMessage=True, apiErrorStatus=status)


def boundary(before: int = 150_000) -> bytes:
    data = {"trigger": "auto", "preTokens": before}
    return claude("system", subtype="compact_boundary", compactMetadata=data)
