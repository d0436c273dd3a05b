"""What a CLI gives its status line to show, as far as the meter goes by it. An agent can have written it.

The form is Claude Code's, which the open contract shares: {"session_id", "model": {"id"}, "context_window":
{"context_window_size"}}.
"""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.documents.json_line import parse_line, table, text

SIZE_LIMIT = 64 << 10
NAME_LIMIT = 200


@dataclass(frozen=True, slots=True)
class StatusLine:
    """window: tokens of the window as they are claimed, and absurd ones too; None where nothing is said of it. problem:
    why nothing of it can be read."""

    session_id: str | None = None
    model: str | None = None
    window: int | None = None
    problem: str = ""


def read_status_line(content: bytes) -> StatusLine:
    """Read what a status line was given; nothing raises."""
    if len(content) > SIZE_LIMIT:
        return StatusLine(problem=f"the status line was given more than {SIZE_LIMIT // 1024} KiB")
    found = parse_line(content.strip())
    if found is None:
        return StatusLine(problem="the status line was given no JSON object")
    session_id, model = text(found, "session_id"), text(table(found, "model"), "id")
    known = StatusLine(session_id[:NAME_LIMIT] if session_id else None, model[:NAME_LIMIT] if model else None)
    window = table(found, "context_window").get("context_window_size")
    if window is None:
        return known
    if isinstance(window, bool) or not isinstance(window, int) or abs(window) >= 1 << 63:
        return StatusLine(known.session_id, known.model, problem="the status line's window is no number of tokens")
    return StatusLine(known.session_id, known.model, window)
