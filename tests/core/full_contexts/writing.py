"""What a CLI writes into its transcript, line by line, as recorded ones have it (`tests/eval_clinic/records`, `blind`).

The readers get these lines. Nothing here knows what a case expects.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from tests.core.full_contexts.errors import codex_info

Line = dict[str, Any]

RESUME = "Output token limit hit. Resume directly — no apology, no recap of what you were doing."
TRUNCATED = "⚠️  Response truncated due to token limits."


def encoded(line: Line) -> bytes:
    return json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode()


def stamp(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def content_of(kind: str, text: str, call: str) -> list[Line]:
    """An answer's blocks. A kind that names a tool or a call is a call."""
    if "tool" in kind or "call" in kind:
        return [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "make check"}}]
    if "thinking" in kind:
        return [{"type": "thinking", "thinking": "", "signature": "c2ln"}]
    return [{"type": "text", "text": text}] if text else []


class Claude:
    """Claude Code, 2.1.197 and 2.1.330."""

    def __init__(self, session: str) -> None:
        self.session = session

    def begins(self, wall: float) -> Iterator[Line]:
        yield {"type": "mode", "mode": "normal", "sessionId": self.session}

    def prompt(self, wall: float, text: str) -> Iterator[Line]:
        yield self._user(wall, text, origin={"kind": "human"})

    def call(self, wall: float, call: str, used: int) -> Iterator[Line]:
        blocks = content_of("tool_use", "", call)
        yield self._assistant(wall, f"msg_{call}", blocks, "tool_use", used, 90)
        result = {"type": "tool_result", "tool_use_id": call, "content": "ok", "is_error": False}
        yield self._user(wall, [result])

    def compacted(self, wall: float, before: int) -> Iterator[Line]:
        data = {"trigger": "auto", "preTokens": before, "durationMs": 9000}
        yield self._line(wall, "system", subtype="compact_boundary", compactMetadata=data)
        yield self._user(wall, "This session is being continued from a summary.", isCompactSummary=True)

    def answer(
        self, wall: float, name: str, blocks: list[Line], stop: str | None, used: int, out: int, *, rest: bool = False
    ) -> Iterator[Line]:
        """rest: it goes on with an answer that was cut, as the CLI asked it to."""
        if rest:
            yield self._user(wall, RESUME, isMeta=True, turnCompanion=True)
        for block in blocks or [{"type": "text", "text": ""}]:
            yield self._assistant(wall, name, [block], stop, used, out)

    def failed(self, wall: float, word: str | None, text: str) -> Iterator[Line]:
        yield self._synthetic(wall, text, isApiErrorMessage=True, error=word or "invalid_request")

    def interrupted(self, wall: float, text: str) -> Iterator[Line]:
        if text:
            yield self._synthetic(wall, text)
        yield self._user(wall, [{"type": "text", "text": "[Request interrupted by user]"}])

    def told(self, wall: float, one: Line) -> Line:
        """A line as a case tells it: an answer, or what the CLI writes in place of one."""
        rest = {key: value for key, value in one.items() if key not in ("at_ms", "message_id", "content", "text")}
        text, kind = str(one.get("text") or ""), str(one.get("content") or "text")
        if one.get("isApiErrorMessage"):
            return next(self.failed(wall, one.get("error"), text))
        name = str(one.get("message_id") or f"msg_{wall}")
        stop, model = rest.pop("stop_reason", None), rest.pop("model", "claude-opus-4-8")
        usage = rest.pop("usage", None) or {"input_tokens": 3, "cache_read_input_tokens": 60_000, "output_tokens": 230}
        message = {
            "id": name, "role": "assistant", "model": model, "stop_reason": stop, "usage": usage,
            "content": content_of(kind, text or "Done.", name),
        }  # fmt: skip
        return self._line(wall, "assistant", message=message, **rest)

    def _assistant(
        self, wall: float, name: str, blocks: list[Line], stop: str | None, used: int, out: int
    ) -> Line:  # fmt: skip
        usage = {
            "input_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": max(0, used - 5),
            "output_tokens": out,
        }  # fmt: skip
        message = {"id": name, "role": "assistant", "model": "claude-opus-4-8", "content": blocks}
        return self._line(wall, "assistant", message={**message, "stop_reason": stop, "usage": usage}, requestId=name)

    def _synthetic(self, wall: float, text: str, **more: Any) -> Line:
        usage = dict.fromkeys(
            ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"), 0
        )
        message = {"role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": text}]}
        return self._line(
            wall, "assistant", message={**message, "stop_reason": "stop_sequence", "usage": usage}, **more
        )

    def _user(self, wall: float, content: Any, **more: Any) -> Line:
        return self._line(wall, "user", message={"role": "user", "content": content}, **more)

    def _line(self, wall: float, kind: str, **more: Any) -> Line:
        head = {"parentUuid": None, "isSidechain": False, "type": kind}
        return {**head, **more, "timestamp": stamp(wall), "sessionId": self.session}


class Codex:
    """Codex 0.169.0."""

    def __init__(self, session: str, window: int | None) -> None:
        self.session, self.window = session, window
        self.ordinal = self.total = 0

    def begins(self, wall: float) -> Iterator[Line]:
        yield self._line(wall, "session_meta", id=self.session, session_id=self.session)

    def prompt(self, wall: float, text: str) -> Iterator[Line]:
        yield self._line(wall, "event_msg", type="task_started", turn_id=f"turn-{wall}")
        item = {"type": "UserMessage", "content": [{"type": "text", "text": text}]}
        yield self._line(wall, "event_msg", type="item_completed", turn_id=f"turn-{wall}", item=item)

    def call(self, wall: float, call: str, used: int) -> Iterator[Line]:
        named = {"name": "exec_command", "arguments": "{}", "call_id": call}
        yield self._line(wall, "response_item", type="function_call", **named)
        output = "Process exited with code 0\nOutput:\nok\n"
        yield self._line(wall, "response_item", type="function_call_output", call_id=call, output=output)
        yield self._count(wall, used, 90)

    def compacted(self, wall: float, before: int) -> Iterator[Line]:
        yield self._line(wall, "compacted", message="")

    def answer(
        self, wall: float, name: str, blocks: list[Line], stop: str | None, used: int, out: int, *, rest: bool = False
    ) -> Iterator[Line]:
        """stop and rest: Codex writes neither."""
        for block in blocks:
            if block["type"] == "text":
                parts = [{"type": "output_text", "text": block["text"]}]
                yield self._line(wall, "response_item", type="message", role="assistant", id=name, content=parts)
            elif block["type"] == "tool_use":
                named = {"name": "exec_command", "arguments": "{}", "call_id": name}
                yield self._line(wall, "response_item", type="function_call", **named)
        yield self._count(wall, used, out)

    def failed(self, wall: float, word: str | None, text: str) -> Iterator[Line]:
        error = {"message": text, "codex_error_info": codex_info(text)}
        yield self._line(wall, "event_msg", type="task_complete", last_agent_message=None, error=error)

    def ended(self, wall: float, text: str) -> Iterator[Line]:
        yield self._line(wall, "event_msg", type="task_complete", last_agent_message=text)

    def interrupted(self, wall: float, text: str) -> Iterator[Line]:
        yield self._line(wall, "event_msg", type="turn_aborted", reason="interrupted")

    def told(self, wall: float, one: Line) -> Line:
        """A line as a case tells it: its payload, or the whole of it."""
        if "payload" in one:
            return {**one, "timestamp": stamp(wall)}
        kind = "compacted" if one.get("type") == "compacted" else "event_msg"
        return self._line(wall, kind, **{key: value for key, value in one.items() if key != "at_ms"})

    def _count(self, wall: float, used: int, out: int) -> Line:
        self.total += used + out
        last = {"input_tokens": used, "cached_input_tokens": used * 9 // 10, "output_tokens": out}
        info = {"last_token_usage": last, "total_token_usage": {"total_tokens": self.total}}
        return self._line(wall, "event_msg", type="token_count", info={**info, "model_context_window": self.window})

    def _line(self, wall: float, line_type: str, **payload: Any) -> Line:
        self.ordinal += 1
        return {"timestamp": stamp(wall), "ordinal": self.ordinal, "type": line_type, "payload": payload}


class Gemini:
    """The Gemini CLI 0.61.0."""

    def __init__(self, session: str, *, is_drawn: bool) -> None:
        """is_drawn: in its terminal, where notes stand in the chat too."""
        self.session, self.is_drawn = session, is_drawn
        self.number = 0

    def begins(self, wall: float) -> Iterator[Line]:
        yield {"sessionId": self.session, "startTime": stamp(wall), "kind": "main"}

    def prompt(self, wall: float, text: str) -> Iterator[Line]:
        yield self._line(wall, "user", content=[{"text": text}])

    def call(self, wall: float, call: str, used: int) -> Iterator[Line]:
        response = {"id": call, "name": "read_file", "response": {"output": "ok"}}
        done = {
            "id": call, "name": "read_file", "args": {"file_path": "till.txt"}, "status": "success",
            "timestamp": stamp(wall), "result": [{"functionResponse": response}],
        }  # fmt: skip
        yield self._line(wall, "gemini", content="", thoughts=[], tokens=_tokens(used, 90), toolCalls=[done])

    def compacted(self, wall: float, before: int) -> Iterator[Line]:
        yield self._line(wall, "info", content="")

    def answer(
        self, wall: float, name: str, blocks: list[Line], stop: str | None, used: int, out: int, *, rest: bool = False
    ) -> Iterator[Line]:
        """stop: it writes none, but where it has a terminal a note of the limit."""
        if self.is_drawn and (stop or "").lower() == "max_tokens":
            yield self._line(wall, "info", content=TRUNCATED)
        text = "".join(block.get("text", "") for block in blocks)
        yield self._line(wall, "gemini", content=text, thoughts=[], tokens=_tokens(used, out))

    def failed(self, wall: float, word: str | None, text: str) -> Iterator[Line]:
        """Without a terminal it prints the error, and writes none."""
        if self.is_drawn:
            yield self._line(wall, "error", content=text if text.startswith("[") else f"[API Error: {text}]")

    def interrupted(self, wall: float, text: str) -> Iterator[Line]:
        yield self._line(wall, "info", content="Request cancelled.")

    def told(self, wall: float, one: Line) -> Line:
        """A line as a case tells it."""
        rest = {key: value for key, value in one.items() if key not in ("at_ms", "text")}
        words = {"content": one["text"]} if "text" in one and "content" not in one else {}
        return self._line(wall, rest.pop("type", "gemini"), **{**rest, **words})

    def _line(self, wall: float, kind: str, **more: Any) -> Line:
        self.number += 1
        return {"id": f"record-{self.number}", "timestamp": stamp(wall), "type": kind, **more}


def _tokens(used: int, out: int) -> dict[str, int]:
    return {"input": used, "output": out, "cached": 0, "thoughts": 0, "tool": 0, "total": used + out}


Writer = Claude | Codex | Gemini


def writer(cli: str, session: str, *, window: int | None = None, is_drawn: bool = True) -> Writer:
    """Who writes the transcript of a session."""
    if cli == "claude":
        return Claude(session)
    return Codex(session, window) if cli == "codex" else Gemini(session, is_drawn=is_drawn)
