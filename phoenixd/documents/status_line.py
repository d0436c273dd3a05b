"""What a CLI gives its status line to show, as far as the meter goes by it. An agent can have written it.

The form is Claude Code's, which the open contract shares: {"session_id", "model": {"id"}, "context_window":
{"context_window_size", "total_input_tokens", "total_output_tokens"}, "cost": {"total_cost_usd"}}.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import isfinite

from phoenixd.documents.json_line import Table, parse_line, table, text

SIZE_LIMIT = 64 << 10
NAME_LIMIT = 200
MOST_USD = 1_000_000_000


@dataclass(frozen=True, slots=True)
class StatusLine:
    """window: tokens of the window as they are claimed, and absurd ones too; None where nothing is said of it. problem:
    why nothing of it can be read. usd, paid: what the session has cost by the CLI's own account, and the tokens of all
    its requests; they grow with each answer, and two lines that differ in nothing else tell the meter the same."""

    session_id: str | None = None
    model: str | None = None
    window: int | None = None
    problem: str = ""
    usd: float | None = field(default=None, compare=False)
    paid: int | None = field(default=None, compare=False)


def read_status_line(content: bytes) -> StatusLine:
    """Read what a status line was given; nothing raises."""
    if len(content) > SIZE_LIMIT:
        return StatusLine(problem=f"the status line was given more than {SIZE_LIMIT // 1024} KiB")
    found = parse_line(content.strip())
    if found is None:
        return StatusLine(problem="the status line was given no JSON object")
    session_id, model = text(found, "session_id"), text(table(found, "model"), "id")
    known = StatusLine(
        session_id[:NAME_LIMIT] if session_id else None,
        model[:NAME_LIMIT] if model else None,
        usd=_money(table(found, "cost").get("total_cost_usd")),
        paid=_paid(table(found, "context_window")),
    )
    window = table(found, "context_window").get("context_window_size")
    if window is None:
        return known
    if isinstance(window, bool) or not isinstance(window, int) or abs(window) >= 1 << 63:
        return replace(known, problem="the status line's window is no number of tokens")
    return replace(known, window=window)


def _money(said: object) -> float | None:
    """A price as it is reported; None for what is none."""
    if isinstance(said, bool) or not isinstance(said, int | float) or not 0 <= said < MOST_USD:
        return None
    return float(said) if isfinite(said) else None


def _paid(context: Table) -> int | None:
    told = [context.get("total_input_tokens"), context.get("total_output_tokens")]
    counts = [one for one in told if isinstance(one, int) and not isinstance(one, bool) and 0 <= one < 1 << 53]
    return sum(counts) if len(counts) == len(told) else None
