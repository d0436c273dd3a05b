"""What a key does: a new face, and what is to be done outside. Pure; the shell carries the effects out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from phoenixd.top import answering, asked, keys, pages, typing_line
from phoenixd.top.effects import Attach, Done, Fetch, PageKind, Quit, question, whom
from phoenixd.top.face import Face, Order, Page, Prompt, World
from phoenixd.top.view import scrolled


def press(world: World, key: str) -> Done:
    """A key was pressed. key: a character, or the name of a key that has none."""
    if world.face.prompt is not None:
        # What came back meanwhile stands until the line is closed.
        return typing_line.pressed(world, key)
    face = replace(world.face, message="")
    found = keys.BY_KEY.get(key)
    if found is None:
        return face.says(f"{key if key.isprintable() else '?'} does nothing; ? shows the keys"), ()
    here = replace(world, face=face)
    why = answering.why_not_number(here, key) if found.action == "number" else found.why(here)
    if why:
        return face.says(f"{key if len(key) == 1 else found.label}: {why}"), ()
    return ACTIONS[found.action](here, key)


def _allow(world: World, key: str) -> Done:
    item = answering.item_at(world)
    assert item is not None
    if item["kind"] == "question":
        prompt = Prompt("reply", asked.prompt(item, 0), order=answering.order(item, ()), item=item["id"])
        return replace(world.face, prompt=prompt), ()
    words = ("approve",) if item["kind"] == "plan" else ("allow",)
    return world.face.says(f"#{item['id']} of {item['agent']}: {words[0]} ..."), (answering.order(item, words),)


def _deny(world: World, key: str) -> Done:
    item = answering.item_at(world)
    assert item is not None
    ask = f"deny #{item['id']} of {item['agent']}, because: "
    prompt = Prompt("deny", ask, order=answering.order(item, ("deny",)), item=item["id"])
    return replace(world.face, prompt=prompt), ()


def _number(world: World, key: str) -> Done:
    item = answering.item_at(world)
    assert item is not None
    return world.face.says(f"#{item['id']} of {item['agent']}: {key} ..."), (answering.order(item, (key,)),)


def _open(world: World, key: str) -> Done:
    name = world.name or ""
    return replace(world.face, page=Page("item", f"what {name} asks", name), seen=None), ()


def _next(world: World, key: str) -> Done:
    free = replace(world, face=replace(world.face, folds={**world.face.folds, "needs_you": False}))
    found = free.places
    at = free.at(found)
    needy = [number for number, place in enumerate(found) if place.group == "needs_you" and place.kind == "agent"]
    if not needy:
        return world.face.says("n: what needs you is not in the filter: Esc ends it"), ()
    target = next((number for number in needy if number > at), needy[0])
    return _to(free, target), ()


def _enter(world: World, key: str) -> Done:
    here = world.here
    assert here is not None
    if here.kind in ("group", "more"):
        return _fold(world, key)
    if here.kind == "alert":
        return world.face.says(world.face.reaching(f"Enter: {keys.OF_NO_AGENT}")), ()
    row = world.model.row(here.key) or {}
    if row.get("pid") is None:
        return world.face.says(f"Enter: {here.key} has no terminal now: b starts it"), ()
    return world.face, (Attach(here.key),)


def _fetch(kind: PageKind) -> Callable[[World, str], Done]:
    def fetch(world: World, key: str) -> Done:
        page = world.face.page
        name = page.name if page is not None else world.name or ""
        return world.face.says(f"{kind} of {name} ..."), (Fetch(kind, name),)

    return fetch


def _meant(world: World) -> tuple[str, ...]:
    """The marked agents that are there, else the one at the cursor."""
    marked = tuple(sorted(name for name in world.face.marks if name in world.model.agents))
    if world.face.marks:
        return marked
    return (world.name,) if world.name is not None else ()


def _order(verb: str, *, fresh: bool = False) -> Callable[[World, str], Done]:
    def ordered(world: World, key: str) -> Done:
        names = _meant(world)
        if not names:
            return replace(world.face, marks=frozenset()).says(f"{key}: the marked agents are gone"), ()
        real = verb
        if fresh:
            runs = any((world.model.row(name) or {}).get("pid") is not None for name in names)
            real = "restart" if runs else "start"  # A restart starts what is down.
        given = {"verb": real, "select": " ".join(names), "expect": list(names), "wait": verb in ("stop", "remove")}
        told = f"{verb} afresh" if fresh else verb
        order = Order("act", {**given, "fresh": True} if fresh else given, told, names)
        if verb == "start" and not fresh and len(names) == 1:
            return world.face.says(f"{told} {names[0]} ..."), (order,)
        return replace(world.face, prompt=Prompt("confirm", question(told, names), order=order)), ()

    return ordered


def _send(world: World, key: str) -> Done:
    names = _meant(world)
    if not names:
        return replace(world.face, marks=frozenset()).says(f"{key}: the marked agents are gone"), ()
    given = {"verb": "send", "select": " ".join(names), "expect": list(names), "wait": True}
    return replace(
        world.face, prompt=Prompt("send", f"to {whom(names)}: ", order=Order("act", given, "send", names))
    ), ()


def _mute(world: World, key: str) -> Done:
    names = _meant(world)
    if not names:
        return replace(world.face, marks=frozenset()).says(f"{key}: the marked agents are gone"), ()
    given = {"verb": "mute", "select": " ".join(names), "expect": list(names)}
    prompt = Prompt("mute", f"mute {whom(names)} for (Enter: 1h): ", order=Order("act", given, "mute", names))
    return replace(world.face, prompt=prompt), ()


def _unmute(world: World, key: str) -> Done:
    names = _meant(world)
    if not names:
        return replace(world.face, marks=frozenset()).says(f"{key}: the marked agents are gone"), ()
    given = {"verb": "unmute", "select": " ".join(names), "expect": list(names)}
    return world.face.says(f"unmute {whom(names)} ..."), (Order("act", given, "unmute", names),)


def _ack(world: World, key: str) -> Done:
    found = answering.alert_at(world)
    assert found is not None
    return world.face.says(f"ack #{found['id']} ..."), (Order("ack_alert", {"id": str(found["id"])}, "ack"),)


def _closed(world: World, key: str) -> Done:
    return world.face.says("what waited ..."), (Fetch("closed", ""),)


def _undo(world: World, key: str) -> Done:
    order = Order("undo", {"dry_run": True}, "undo")
    return world.face.says("undo: looking what there is ..."), (order,)


def _mark(world: World, key: str) -> Done:
    marks = world.face.marks ^ {world.name or ""}
    found = world.places
    marked = replace(world, face=replace(world.face, marks=marks))
    return _to(marked, min(len(found) - 1, world.at(found) + 1)), ()


def _mark_all(world: World, key: str) -> Done:
    listed = frozenset(place.key for place in world.places if place.kind == "agent")
    marks = world.face.marks - listed if listed <= world.face.marks else world.face.marks | listed
    told = f"{len(marks)} marked" + ("; folded groups are left out: Tab opens them" if _has_folded(world) else "")
    return replace(world.face, marks=marks).says(told), ()


def _has_folded(world: World) -> bool:
    return any(world.is_folded(place.group) for place in world.places)


def _fold(world: World, key: str) -> Done:
    here = world.here
    assert here is not None
    folds = {**world.face.folds, here.group: not world.is_folded(here.group)}
    return replace(world.face, folds=folds, cursor=("group", here.group)), ()


def _filter(world: World, key: str) -> Done:
    return replace(world.face, prompt=Prompt("filter", "/", world.face.filter, said=(world.face.filter,))), ()


def _keys(world: World, key: str) -> Done:
    return replace(world.face, page=Page("keys", "keys")), ()


def _back(world: World, key: str) -> Done:
    if world.face.page is not None:
        return replace(world.face, page=None, seen=None), ()
    if world.face.filter:
        return replace(world.face, filter=""), ()
    return replace(world.face, marks=frozenset()), ()


def _quit(world: World, key: str) -> Done:
    return _back(world, key) if world.face.page is not None else (world.face, (Quit(),))


def _moved(by: Callable[[World], int]) -> Callable[[World, str], Done]:
    """Down or up by some lines, on the page or in the list."""

    def moved(world: World, key: str) -> Done:
        page, steps = world.face.page, by(world)
        if page is not None:
            told = pages.body(world, page, keys.help_lines(world))
            space = pages.room(world)
            top = pages.clamped(pages.clamped(page.top, len(told), space) + steps, len(told), space)
            return replace(world.face, page=replace(page, top=top)), ()
        found = world.places
        if not found:
            return world.face, ()
        return _to(world, max(0, min(len(found) - 1, world.at(found) + steps))), ()

    return moved


def _to(world: World, number: int) -> Face:
    """The cursor at this line of the list, which is brought onto the screen."""
    found = world.places
    if not found:
        return world.face
    place = found[number]
    face = replace(world.face, cursor=(place.kind, place.key))
    return replace(face, top=scrolled(replace(world, face=face)))


def _screenful(world: World) -> int:
    return max(1, (pages.room(world) if world.face.page is not None else world.list_room) - 1)


ENDLESS = 1_000_000
ACTIONS: dict[str, Callable[[World, str], Done]] = {
    "allow": _allow,
    "deny": _deny,
    "number": _number,
    "open": _open,
    "next": _next,
    "enter": _enter,
    "screen": _fetch("screen"),
    "explain": _fetch("explain"),
    "log": _fetch("log"),
    "lives": _fetch("lives"),
    "start": _order("start"),
    "fresh": _order("start", fresh=True),
    "restart": _order("restart"),
    "stop": _order("stop"),
    "remove": _order("remove"),
    "send": _send,
    "undo": _undo,
    "mute": _mute,
    "unmute": _unmute,
    "ack": _ack,
    "closed": _closed,
    "mark": _mark,
    "mark_all": _mark_all,
    "fold": _fold,
    "filter": _filter,
    "down": _moved(lambda world: 1),
    "up": _moved(lambda world: -1),
    "first": _moved(lambda world: -ENDLESS),
    "last": _moved(lambda world: ENDLESS),
    "page_down": _moved(_screenful),
    "page_up": _moved(lambda world: -_screenful(world)),
    "keys": _keys,
    "back": _back,
    "quit": _quit,
}
