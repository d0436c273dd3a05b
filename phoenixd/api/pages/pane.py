"""What an agent's terminal shows, as text for another terminal."""

from __future__ import annotations

from phoenixd.api.pages.layout import clean


def pane_text(captured: str) -> str:
    """What a terminal shows, as text that is safe in another terminal; trailing blank lines are left out."""
    lines = [clean(line).rstrip() for line in captured.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return "".join(f"{line}\n" for line in lines)
