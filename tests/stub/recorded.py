"""One request as the stub saw it, and what kind of request it is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["main", "subagent", "compaction", "side"]

_SECRET_HEADERS = {"x-api-key", "authorization"}


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """`at` is Unix time, `body` the parsed JSON (an empty object where there was none), header names are lower case."""

    number: int
    at: float
    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def is_message(self) -> bool:
        return self.method == "POST" and self.path.split("?")[0] == "/v1/messages"

    @property
    def kind(self) -> Kind:
        """main is the agent's own conversation; side is what the CLI asks for itself (titles, probes)."""
        if not self.is_message or not self.body.get("tools") or self.body.get("max_tokens") == 1:
            return "side"
        if "x-claude-code-agent-id" in self.headers:
            return "subagent"
        # Compaction sends the whole conversation, tools included, and asks for text in the newest message.
        return "compaction" if "Respond with TEXT ONLY. Do NOT call any tools" in self.text else "main"

    @property
    def session_id(self) -> str | None:
        return self.headers.get("x-claude-code-session-id")

    @property
    def text(self) -> str:
        """What the newest user message says: prompts and tool results, without the CLI's own reminders.

        Of reminders alone it is these: Claude Code 2.1.330 and newer say in one why a turn may not end.
        """
        for message in reversed(self.body.get("messages", [])):
            if message.get("role") == "user":
                texts = _texts(message.get("content"))
                parts = [text for text in texts if not text.startswith("<system-reminder>")]
                return "\n".join(parts or texts)
        return ""

    @property
    def whole_text(self) -> str:
        """All that the model would read: system prompt and every message."""
        messages = self.body.get("messages", [])
        return "\n".join([*_texts(self.body.get("system")), *(t for m in messages for t in _texts(m.get("content")))])

    def as_json(self) -> str:
        """One line for the record file; credentials are left out."""
        headers = {k: "(secret)" if k in _SECRET_HEADERS else v for k, v in self.headers.items()}
        line = {"number": self.number, "at": self.at, "method": self.method, "path": self.path}
        return json.dumps({**line, "kind": self.kind, "headers": headers, "body": self.body})


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    found: list[str] = []
    for block in content if isinstance(content, list) else []:
        if block.get("type") == "text":
            found.append(block.get("text", ""))
        elif block.get("type") == "tool_result":
            found.extend(_texts(block.get("content")))
    return found
