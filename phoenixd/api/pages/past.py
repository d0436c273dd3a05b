"""Turns of an agent, and what waited for a person and does not any more, as text."""

from __future__ import annotations

from collections.abc import Sequence

from phoenixd.api.closed_items import ClosedItem
from phoenixd.api.pages.layout import Page, clip, columns, pad, page
from phoenixd.api.times import ago, span
from phoenixd.documents.turn_rows import TurnRow

NAME_COLUMNS = 12
WORDS = {"done": "", "failed": "failed", "interrupted": "interrupted", None: ""}


def closed(items: Sequence[ClosedItem], here: Page) -> str:
    """What waited within 7 days, the newest end first: when, whose, what, by whom and how it ended."""
    if not items:
        return page(["Nothing that waited for you has ended within 7 days. What waits now: phoenixctl inbox"])
    width = min(max(NAME_COLUMNS, *(len(one.agent or "") for one in items)), max(NAME_COLUMNS, here.width // 3))
    lines = []
    for one in items:
        lead = f"{here.clock(one.closed):>8} #{one.id:<5}{pad(one.agent or 'phoenixd', width)} "
        waited = f" after {ago(one.closed - one.opened)}" if one.opened is not None else ""
        what = f"{one.kind}: {one.text}" if one.text else one.kind
        lines.append(lead + clip(what, max(10, here.width - columns(lead))))
        by = f"by {one.by}" if one.by is not None else "by itself"
        lines.append(f"    {clip(f'{by}{waited}: {one.how}', max(10, here.width - 4))}")
    return page([*lines, "", "what waits now: phoenixctl inbox"])


def turns(name: str, found: Sequence[TurnRow], here: Page) -> str:
    """A turn on two lines: when, how long, how it ended; what it was told, what it called, what it took."""
    if not found:
        return page([f"Nothing is known of a turn of {name}. What its terminal shows: phoenixctl screen {name}"])
    lines = []
    for one in found:
        when = here.clock(one.started) if one.started is not None else "--:--:--"
        took = span(one.ended - one.started) if one.ended is not None and one.started is not None else ""
        state = WORDS[one.how] if one.ended is not None else "open"
        lead = " ".join(filter(None, (when, took, state)))
        lines.append(clip(f"{lead}  > {one.prompt}", here.width))
        calls = ", ".join(f"{tool} {count}" if count > 1 else tool for tool, count in one.tools)
        failed = f"{one.failed} failed" if one.failed else ""
        took_tokens = f"{one.tokens} tokens taken" if one.tokens is not None else ""
        brought = f"{one.output} written" if one.output else ""
        told = "; ".join(filter(None, (calls or "no tools", failed, took_tokens, brought)))
        lines.append(clip(f"    {told}", here.width))
    return page([*lines, "", f"what was said: phoenixctl log {name}"])
