"""The operator's inbox: what of it is this agent's, and open."""

from __future__ import annotations

from collections.abc import Iterator

from phoenixd.documents.brief.around import Waits
from phoenixd.documents.state import OpenLoop
from phoenixd.memory.brief.loops.seen import Found, Seen, quoted, source_of

KIND = "inbox"


def found(seen: Seen) -> Iterator[Found]:
    for item in seen.around.inbox:
        shown = f"Waits for a person, {item.kind}: {quoted(item.text)}"
        yield Found(KIND, source(item), shown, item.at, is_same=True)


def source(item: Waits) -> str:
    """What an item is as the source of its loop."""
    return f"item {item.id}"


def closed(loop: OpenLoop, seen: Seen) -> str | None:
    mine = source_of(loop)
    return "the inbox item is closed" if mine and all(mine != one.source for one in found(seen)) else None
