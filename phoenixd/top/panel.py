"""The panel below the list: who is at the cursor, and what is asked there, whole where it fits."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.api.pages.layout import fold
from phoenixd.top import asked, words
from phoenixd.top.face import World
from phoenixd.top.frames import Json
from phoenixd.top.spans import Line, Span, cut, first_that_fits, line, safe


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines, and the item that stands in them whole; None where there is none, or a part of it does not fit."""

    lines: tuple[Line, ...]
    whole: Json | None = None


def panel(world: World) -> Panel:
    """The panel of the row at the cursor; no lines where the screen has no room for any."""
    room, width = world.panel_room, world.width
    if not room:
        return Panel(())
    rule = line(Span("-" * width, "dim"))
    here = world.here
    if here is not None and here.kind == "alert":
        alert = world.model.alerts[int(here.key)].body
        parts = fold(safe(f"{alert['kind']}: {alert['text']}"), width - 2)
        return Panel((rule, *(line(f" {part}") for part in parts[: room - 1])))
    row = world.model.row(world.name) if world.name is not None else None
    if row is None:
        return Panel((rule,))
    who = line(" ", Span(_who(row, world), ""))
    waiting = world.model.waiting(row["name"])
    if waiting:
        return _waiting(waiting, (rule, who), room, width)
    return Panel((rule, who, *_facts(row, world)[: room - 2]))


def _waiting(waiting: tuple[Json, ...], head: tuple[Line, ...], room: int, width: int) -> Panel:
    item, more = waiting[0], len(waiting) - 1
    told = asked.lines(item, width - 1)
    other = [line(Span(f" and {more} more of this agent", "dim"))] if more else []
    left = room - len(head) - len(other)
    if len(told) <= left:
        return Panel((*head, *(_set_in(one) for one in told), *other), item)
    cut = line(Span(f" ... {len(told) - max(0, left - 1)} more lines: o opens all of it", "strong"))
    return Panel((*head, *(_set_in(one) for one in told[: max(0, left - 1)]), cut, *other)[:room])


def _set_in(told: Line) -> Line:
    return (Span(" "), *told)


def _who(row: Json, world: World) -> str:
    run = f"gen {row['generation']}" if row.get("generation") else f"inc {row['incarnation']}"
    session = f"session {str(row['session_id'])[:8]}" if row.get("session_id") else ""
    up = f"up {words.age_of(row['started_at'], world.clock)}" if row.get("started_at") else "not running"
    attached = row.get("attached")
    looked_at = f"{attached['clients']} attached" if attached and attached["clients"] else ""
    branch = f" ({row['branch']})" if row.get("branch") else ""
    parts = [row["name"], row["harness"], run, session, f"{row['cwd']}{branch}", up, looked_at, row.get("model") or ""]
    kept = [safe(part) for part in parts if part]
    variants = [" · ".join(kept[:number]) for number in range(len(kept), 0, -1)]
    return first_that_fits(variants, world.width - 1)


def _facts(row: Json, world: World) -> list[Line]:
    """What is known of an agent that asks nothing."""
    clock = world.clock
    why = row.get("why") or {}
    told = [
        ("task", row.get("task")),
        ("doing", words.doing(row, clock)),
        ("why", why.get("reason")),
        ("step", row.get("step")),
        ("context", f"{words.context(row)}, cost {words.cost(row)}"),
        ("alert", "; ".join(f"{one['kind']}: {one['text']}" for one in row.get("alerts") or ())),
        ("case", row.get("case")),
        ("goal", row.get("goal")),
        ("loops", f"{row['open_loops']} open" if row.get("open_loops") else ""),
    ]
    found = [(label, safe(value)) for label, value in told if value]
    return [line(Span(f" {label:<8}", "dim"), cut(value, world.width - 9)) for label, value in found]
