"""What agents said and did, a line each: time, agent, sign, words; the sign tells what it is without colour."""

from __future__ import annotations

from collections.abc import Iterable

from phoenixd.api.pages.layout import Page, clip, name_column, pad
from phoenixd.core.question.characters import visible
from phoenixd.documents.log_lines import LogKind, LogLine

SIGNS: dict[LogKind, str] = {"prompt": ">", "said": " ", "tool": "$", "result": "=", "error": "!", "session": "-"}
HUES = (36, 33, 35, 32, 34, 96, 93, 95)
"""Colours of agents' names; which one an agent has depends on its name alone."""
NO_TIME = "--:--:--"


def line(told: LogLine, width: int, here: Page, *, cut: bool = True) -> str:
    """One line. width: of the column of names; cut: whether it ends where the page does."""
    when = here.clock(told.at) if told.at is not None else NO_TIME
    words = visible(f"{told.tool}: {told.text}" if told.kind == "tool" and told.text else told.tool or told.text)
    if told.kind in ("result", "error") and told.tool:
        words = visible(f"{told.tool}: {told.text}")
    name = pad(visible(told.agent), width)
    shown = f"{SIGNS[told.kind]} {words}"
    if cut:
        shown = clip(shown, max(10, here.width - len(when) - width - 2))
    if here.colour:
        name = f"\x1b[{HUES[sum(told.agent.encode()) % len(HUES)]}m{name}\x1b[0m"
    return f"{when} {name} {shown}".rstrip()


def column(names: Iterable[str], here: Page) -> int:
    """How wide the column of names is: a third of the page at most."""
    return name_column(names, here, 1)
