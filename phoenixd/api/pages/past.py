"""Turns of an agent, and what waited for a person and does not any more, as text."""

from __future__ import annotations

from collections.abc import Sequence

from phoenixd.api.closed_items import ClosedItem
from phoenixd.api.pages.layout import Page, clip, columns, name_column, number_column, pad, page, wrap
from phoenixd.api.times import ago, span
from phoenixd.documents.turn_rows import TurnRow

NOBODYS = "phoenixd"
"""Stands for the agent of what is about none."""
WORDS = {"done": "", "failed": "failed", "interrupted": "interrupted", None: ""}


def closed(items: Sequence[ClosedItem], here: Page) -> str:
    """What waited within 7 days, the newest end first: when, whose, what, by whom and how it ended."""
    if not items:
        return page(
            [here.ending("Nothing that waited for you has ended within 7 days. What waits now: phoenixctl inbox")]
        )
    width = name_column([one.agent or NOBODYS for one in items], here)
    digits = number_column([one.id for one in items])
    lines = []
    for one in items:
        lead = f"{here.clock(one.closed):>8} #{one.id:<{digits}}{pad(one.agent or NOBODYS, width)} "
        what = f"{one.kind}: {one.text}" if one.text else one.kind
        lines.append(lead + clip(what, max(10, here.width - columns(lead))))
        lines.append(f"    {clip(_how(one), max(10, here.width - 4))}")
    return page([*lines, "", here.ending("what waits now: phoenixctl inbox")])


def closed_one(item: ClosedItem, here: Page) -> str:
    """One thing that waited, in full."""
    head = f"#{item.id} {item.kind} of {item.agent or NOBODYS}, ended {here.clock(item.closed)} {_how(item)}"
    asked = [line for part in item.text.splitlines() for line in wrap(part, here.width - 4)]
    lines = [*wrap(head, here.width), *([""] if asked else []), *(f"    {line}" for line in asked)]
    return page([*lines, "", here.ending("what else ended: phoenixctl inbox --closed")])


def _how(item: ClosedItem) -> str:
    by = f"by {item.by}" if item.by is not None else "by itself"
    waited = f" after {ago(item.closed - item.opened)}" if item.opened is not None else ""
    return f"{by}{waited}: {item.how}"


def turns(name: str, found: Sequence[TurnRow], here: Page) -> str:
    """A turn on two lines: when, how long, how it ended; what it was told, what it called, what it took."""
    if not found:
        return page(
            [here.ending(f"Nothing is known of a turn of {name}. What its terminal shows: phoenixctl screen {name}")]
        )
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
    return page([*lines, "", here.ending(f"what was said: phoenixctl log {name}")])
