"""The names of events in journal rows, to compare and to show."""

from __future__ import annotations

from phoenixd.ports.journal import Entry


def event_key(name: str) -> str:
    """An event's name without case and punctuation, so that AgentExited and agent-exited are the same."""
    return name.replace("_", "").replace("-", "").lower()


def event_words(entry: Entry) -> str:
    """An event's name for people: "agent exited"; a hook is called by its kind."""
    kind = entry.detail.get("kind")
    if event_key(entry.event) == "hookseen" and isinstance(kind, str):
        return f"hook {kind}"
    if event_key(entry.event) in ("alertraised", "alertover"):
        return f"{entry.event.replace('_', ' ')}: {kind}"
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in entry.event)
    return spaced.replace("_", " ").replace("-", " ").strip()
