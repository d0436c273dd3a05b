"""What the `brief` verbs print."""

from __future__ import annotations

from collections.abc import Sequence

from phoenixd.api.pages.layout import Page, clean, page, wrap
from phoenixd.api.times import ago
from phoenixd.api.values import BriefWriting
from phoenixd.documents.brief.health import Fault


def brief(text: str, writing: BriefWriting | None = None) -> str:
    """The page as it stands in the file, without anything that a terminal would obey; what it cost stands below."""
    lines = [clean(line, lines=True) for line in text.rstrip("\n").split("\n")]
    if writing is not None and (writing.tokens > 0 or writing.tokens_today > 0):
        by = f"written by the {writing.writer} writer" if writing.writer else "written"
        lines += ["", clean(f"-- {by} for {writing.tokens:,} tokens; {writing.tokens_today:,} today (UTC)")]
    return page(lines)


def verdict(name: str, faults: Sequence[Fault], age: float | None, here: Page, *, sound: bool) -> str:
    """What is wrong with an agent's documents, or that nothing is."""
    written = f"; the brief was written {ago(age)} ago" if age is not None else ""
    lines = wrap(f"{name}: {'its documents are sound' if sound else 'not to be relied on'}{written}", here.width)
    for fault in faults:
        sign = here.sign("~" if fault.kind == "odd" else "!")
        told = wrap(fault.text, here.width - 2)
        lines += [f"{sign} {line}" if number == 0 else f"  {line}" for number, line in enumerate(told)]
    if sound:
        return page([*lines, "", here.ending(f"next: phoenixctl brief show {name}")])
    return page([*lines, "", here.ending(f"fix: phoenixctl brief generate {name}")])
