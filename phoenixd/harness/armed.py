"""An armed answer as one CLI takes it: for which of its hooks, and in which words. The shim passes it on unread."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ArmedBody:
    """kind: the hook, as the shim and the hook program call it. named: the hook as the CLI calls it, where another of
    its hooks is told as the same kind. body: what the CLI reads, as JSON."""

    kind: str
    body: dict[str, object]
    named: str | None = None
    words: str = "last_assistant_message"
    """Of a turn's end, the field with the agent's last words."""
