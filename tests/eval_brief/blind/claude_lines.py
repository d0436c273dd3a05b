"""Claude Code's lines: patterns from 2.1.197's recordings, and the chain of ids that runs through them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.eval_brief.blind.patterns import CWD, Ids, Line, Times, as_line, pattern


def stamp(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


class Lines:
    """A transcript in the making. `put` gives a line its place in the chain, its time and this session's ids."""

    def __init__(self, seed: str, branch: str) -> None:
        self.ids, self.times = Ids(seed), Times()
        self.session_id = self.ids.uuid()
        self.made: list[bytes] = []
        self._branch, self._parent = branch, ""
        self._prompt, self._last_prompt = self.ids.uuid(), ""
        self._uses: dict[str, str] = {}
        self._described: dict[str, str] = {}
        self._requests = 0
        self._answer: tuple[str, str] | None = None
        self._newest = ""

    def put(self, line: Line, at: float | None = None) -> str:
        """Write a line; its uuid."""
        uuid, moment = self.ids.uuid(), stamp(at if at is not None else self.times.read())
        own = {"uuid": uuid, "timestamp": moment, "cwd": CWD, "sessionId": self.session_id, "gitBranch": self._branch}
        own |= {"promptId": self._prompt}
        line.pop("slug", None)
        line |= {key: value for key, value in own.items() if key in line}
        for key in ("logicalParentUuid", "leafUuid"):
            if key in line:
                line[key] = self._parent
        if "uuid" in line:
            # The chain is cut at a compaction, and goes on by another key.
            line["parentUuid"] = None if "logicalParentUuid" in line else self._parent or None
            self._parent = uuid
        self.made.append(as_line(line))
        return uuid

    def begin(self) -> None:
        """What stands before the first prompt."""
        for kind in ("last-prompt", "mode", "permission-mode", "ai-title"):
            self.put(pattern("claude-question-open", lambda line, kind=kind: line["type"] == kind))
        for kind in ("hook_success", "hook_additional_context"):
            self.attach("claude-question-open", kind)

    def snapshot(self) -> None:
        line = pattern("claude-work", lambda line: line["type"] == "file-history-snapshot")
        message, moment = self.ids.uuid(), stamp(self.times.read())
        line["messageId"] = message
        line["snapshot"] |= {"messageId": message, "timestamp": moment}
        self.put(line)

    def prompt(self, text: str) -> None:
        """A person's prompt."""
        self._prompt, self._last_prompt = self.ids.uuid(), text
        self.snapshot()
        line = pattern("claude-work", lambda line: line["origin"] == {"kind": "human"})
        line["message"]["content"] = text
        self.put(line)

    def attach(self, sample: str, kind: str, **changes: Any) -> None:
        line = pattern(sample, lambda line: line["attachment"]["type"] == kind)
        line["attachment"] |= changes
        self.put(line)

    def say(
        self, text: str, uses: list[tuple[str, dict[str, Any]]], stop: str | None, goes_on: bool = False
    ) -> list[str]:
        """An answer of the model, a line for each block; the ids of its tool calls. goes_on: more blocks will come."""
        if self._answer is None:
            self._requests += 1
            self._answer = f"msg_01{self.ids.short(22)}", f"req_011{self.ids.short(21)}"
        message, request = self._answer
        self._newest = message
        self._answer = self._answer if goes_on else None
        calls = []
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        for name, given in uses:
            calls.append(f"toolu_01{self.ids.short(22)}")
            self._described[calls[-1]] = str(given.get("description", "Run"))
            blocks.append({"type": "tool_use", "id": calls[-1], "name": name, "input": given})
        for block in blocks:
            line = pattern("claude-work", lambda line: line["message"]["role"] == "assistant")
            line["requestId"] = request
            line["message"] |= {"id": message, "content": [block], "stop_reason": stop}
            line["message"]["usage"] |= {
                "cache_read_input_tokens": 15_000 + 700 * self._requests,
                "output_tokens": 30 + len(text) // 4,
            }
            uuid = self.put(line)
            if block["type"] == "tool_use":
                self._uses[block["id"]] = uuid
        return calls

    def described(self, call: str) -> str:
        return self._described[call]

    def result(self, call: str, name: str, like: Line, content: str, told: Any) -> None:
        """What a call came to, between the notices of its hooks. like: the recorded line; told: `toolUseResult`."""
        self._hook("PreToolUse", name, call)
        part = like["message"]["content"][0]
        part |= {"tool_use_id": call, "content": content}
        like |= {"toolUseResult": told, "sourceToolAssistantUUID": self._uses[call]}
        self.put(like)
        self._hook("PostToolUseFailure" if part.get("is_error") else "PostToolUse", name, call)

    def _hook(self, event: str, name: str, call: str) -> None:
        line = pattern("claude-work", lambda line: line["attachment"]["hookName"].startswith("PreToolUse:"))
        line["attachment"] |= {"hookName": f"{event}:{name}", "hookEvent": event, "toolUseID": call}
        self.put(line)

    def end_turn(self, began: float) -> None:
        """The notice of the Stop hook, its summary, and the end of the turn."""
        tool = self.ids.uuid()
        line = pattern("claude-work", lambda line: line["attachment"]["hookName"] == "Stop")
        line["attachment"]["toolUseID"] = tool
        self.put(line)
        line = pattern("claude-work", lambda line: line["subtype"] == "stop_hook_summary")
        self.put(line | {"toolUseID": tool})
        line = pattern("claude-work", lambda line: line["subtype"] == "turn_duration")
        self.put(line | {"durationMs": int(1000 * (self.times.now - began)), "messageCount": len(self.made)})

    def interrupt(self) -> None:
        """A person stopped the turn: only so can a prompt come before its end."""
        line = pattern("claude-session", lambda line: "interrupted by user" in str(line["message"]["content"]))
        self.put(line | {"interruptedMessageId": self._newest})

    def keep_books(self) -> None:
        """What the CLI writes anew now and then."""
        for kind in ("last-prompt", "ai-title", "mode", "permission-mode"):
            line = pattern("claude-work", lambda line, kind=kind: line["type"] == kind, last=True)
            if "lastPrompt" in line:
                line["lastPrompt"] = self._last_prompt
            self.put(line)

    def queue(self, operation: str, content: str | None = None, at: float | None = None) -> None:
        sample = "claude-notices" if operation == "dequeue" else "claude-queued-open"
        like = pattern(sample, lambda line: line["operation"] == operation)
        self.put(like | ({"content": content} if content is not None else {}), at)
