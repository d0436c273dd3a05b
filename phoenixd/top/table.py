"""Places of the list as lines: sign, name, state, age, context, cost, what it is about, and the number of an item."""

from __future__ import annotations

from phoenixd.api.pages.layout import columns
from phoenixd.top import words
from phoenixd.top.face import World
from phoenixd.top.groups import SIGNS, STYLES, TITLES, Place
from phoenixd.top.spans import Line, Span, first_that_fits, fitted, line, pad, safe

WIDE, FULL, NARROW = 110, 60, 30
"""Columns from which on context and cost, all but these, and no more than name and age have room."""
STATE, AGE, SHORT_AGE, CONTEXT, COST = 15, 7, 5, 11, 8
LEAST_NAME = 12


def lines(world: World, shown: tuple[Place, ...], cursor: Place | None) -> list[Line]:
    """A line for each of these places, none wider than the screen."""
    names = [columns(told) for told in world.model.agents]
    most = world.width - 9 if world.width < NARROW else world.width // 3
    name = min(most, max([LEAST_NAME, *names]))
    return [fitted(_place(world, place, name, place == cursor), world.width) for place in shown]


def _place(world: World, place: Place, name: int, is_here: bool) -> Line:
    pointer = ">" if is_here else " "
    if place.kind == "group":
        return _heading(world, place, pointer)
    if place.kind == "more":
        return line(pointer, Span(f"... {place.count} more", "dim"), Span("  Tab opens the group", "dim"))
    if place.kind == "alert":
        alert = world.model.alerts[int(place.key)].body
        told = safe(f"{alert['kind']}: {alert['text']}")
        return line(pointer, Span("!", "need"), f" {told}")
    return _agent(world, place, name, pointer, is_here)


def _heading(world: World, place: Place, pointer: str) -> Line:
    title = f"{TITLES[place.group]} ({place.count})"
    hint = "  Tab opens it" if place.is_folded else ""
    note = _parked(world) if place.group == "resting" and place.is_folded else ""
    return line(pointer, Span(title, STYLES[place.group]), Span(note), Span(hint, "dim"))


def _parked(world: World) -> str:
    until = [told.body["parked_until"] for told in world.model.agents.values() if told.body.get("parked_until")]
    times = [wall for one in until if (wall := words.wall_of(one)) is not None]
    return f"  {len(times)} parked until {world.clock.time_of_day(min(times), '%H:%M')}" if times else ""


def _agent(world: World, place: Place, name: int, pointer: str, is_here: bool) -> Line:
    told = world.model.agents[place.key]
    row, width = told.body, world.width
    item = (
        next(iter(world.model.waiting(place.key)), None) if row.get("item") or row.get("group") == "needs_you" else None
    )
    mark = "+" if place.key in world.face.marks else " "
    sign = Span(SIGNS[place.group], STYLES[place.group])
    shown_name = Span(pad(safe(row["name"]), name), "strong" if is_here else "")
    aged = words.age(row, item, world.clock, told.at)
    number = f" #{item['id']}" if item is not None else ""
    lead: list[str | Span] = [pointer, sign, mark, shown_name]
    if width < NARROW:
        return line(*lead, f" {aged}")
    state = words.state(row, item)
    if width < FULL:
        lead.append(f" {aged:>{SHORT_AGE}} ")
        room = width - columns("".join(_texts(lead))) - len(number)
        short = item["kind"] if item is not None else state
        return line(*lead, pad(first_that_fits((state, short), room), room), number)
    lead += [" ", Span(pad(state, STATE), STYLES[place.group] if place.group != "working" else ""), f" {aged:>{AGE}}  "]
    if width >= WIDE:
        lead += [f"{words.context(row):<{CONTEXT}} {words.cost(row):>{COST}}  "]
    else:
        lead += [f"{words.percent(row):>4}  "]
    room = width - columns("".join(_texts(lead))) - len(number)
    return line(*lead, pad(words.matter(row, item, world.clock), room), number)


def _texts(parts: list[str | Span]) -> list[str]:
    return [part.text if isinstance(part, Span) else part for part in parts]
