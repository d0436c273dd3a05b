"""Pages above the list: an item whole, the keys, and what the daemon told as text, each with a place to scroll."""

from __future__ import annotations

from collections.abc import Sequence

from phoenixd.api.pages.layout import fold
from phoenixd.api.times import ago
from phoenixd.core.question.characters import visible
from phoenixd.top import asked, words
from phoenixd.top.face import Page, World
from phoenixd.top.frames import Json
from phoenixd.top.spans import Line, Span, fitted, line, safe

MOST = 10_000
"""Lines of a page; of more the newest are shown."""


def body(world: World, page: Page, keys: Sequence[Line] = ()) -> list[Line]:
    """All lines of a page at this width. keys: what the page of the keys says."""
    if page.kind == "keys":
        return list(keys)
    if page.kind == "item":
        item = shown_item(world, page)
        return asked.lines(item, world.width - 1) if item is not None else [line(_over(world, page))]
    return [
        line(part)
        for told in (page.lines or ())[-MOST:]
        for part in fold(visible(told.rstrip()), max(1, world.width - 1))
    ]


def shown_item(world: World, page: Page) -> Json | None:
    """The item that a page shows: the first of its agent."""
    return next(iter(world.model.waiting(page.name)), None)


def room(world: World) -> int:
    """Lines of a page that are on the screen at once."""
    return max(1, world.height - 1 - world.foot_room)


def lines(world: World, page: Page, told: Sequence[Line]) -> list[Line]:
    """A heading and as much of the page as there is room for."""
    space = room(world)
    top = clamped(page.top, len(told), space)
    end = min(len(told), top + space)
    where = f"{top + 1}-{end} of {len(told)}" if len(told) > space else ""
    title = f" {safe(page.title)}"
    gap = world.width - len(title) - len(where) - 1
    heading = [Span(title, "strong"), Span(f"{' ' * gap}{where}" if gap > 0 else "")]
    shown = [fitted((Span(" "), *one), world.width) for one in told[top:end]]
    blank = [line(" " * world.width)] * (space - len(shown))
    return [fitted(tuple(heading), world.width), *shown, *blank]


def clamped(top: int, count: int, space: int) -> int:
    """The first line of a page that can be shown at its top."""
    return max(0, min(top, count - space))


def lives(found: Json, clock: words.Clock) -> tuple[str, ...]:
    """The runs of an agent as lines, the newest first."""
    told = [f"{'run':<8} {'began':<11} {'for':<7} how it began -> how it ended"]
    newest: dict[object, int] = {}
    for one in found["lives"]:
        newest[one.get("agent")] = max(one["incarnation"], newest.get(one.get("agent"), 0))
    for one in found["lives"]:
        began, ended = words.wall_of(one["started"]), words.wall_of(one["ended"])
        day = clock.time_of_day(began, "%m-%d %H:%M") if began is not None else words.UNKNOWN
        lasted = ago((ended if ended is not None else clock.wall) - began) if began is not None else words.UNKNOWN
        is_newest = one["incarnation"] == newest[one.get("agent")]
        if ended is not None:
            end = str(one["end_reason"] or one["cause"] or f"exit {one['code']}")
        else:
            end = "it runs" if is_newest else "its end is not known"
        if ended is None and not is_newest:
            lasted = words.UNKNOWN
        mode = f"{one['mode'] or words.UNKNOWN}: {one['reason'] or words.UNKNOWN}"
        told.append(f"inc {one['incarnation']:<4} {day:<11} {lasted:<7} {mode} -> {end}")
    return tuple(told) if found["lives"] else ("It has not run yet.",)


def _over(world: World, page: Page) -> str:
    """How what was asked ended, where that was heard."""
    ends = [one for one in world.model.closed.values() if one.agent == page.name]
    if not ends:
        return f"Nothing of {page.name} waits for you."
    by = f" by {ends[-1].by}" if ends[-1].by else ""
    return f"Nothing of {page.name} waits any more: answered{by}, {safe(ends[-1].how)}"
