"""The whole screen as lines: head, list, panel, foot; or a page; and what of it stands whole before the person."""

from __future__ import annotations

from dataclasses import dataclass, replace

from phoenixd.api.pages.layout import columns, fold, wrap
from phoenixd.core.question.characters import visible
from phoenixd.top import head, keys, pages, panel, table
from phoenixd.top.face import Face, Page, Seen, World
from phoenixd.top.frames import Json
from phoenixd.top.spans import Line, Span, cut, fitted, line, plain, safe


@dataclass(frozen=True, slots=True)
class View:
    """Lines of the screen from top to bottom, each as wide as it. asked: the item that can be read there.

    to: how many lines of it are above the lower edge, of how many; all of them where it is shown at once.
    """

    lines: tuple[Line, ...]
    asked: Json | None = None
    begins: int = 0
    to: int = 0
    of: int = 0

    @property
    def text(self) -> str:
        """The screen without styles, as a person would copy it."""
        return "".join(f"{plain(one)}\n" for one in self.lines)


ALL_KEYS = "  ? keys"


def paint(world: World) -> View:
    """The screen of this moment."""
    page = world.face.page
    shown = _page(world, page) if page is not None else _list(world)
    return replace(shown, lines=tuple(_uncoloured(one) if head.is_quiet(world) else one for one in shown.lines))


def seen(face: Face, view: View, at: float) -> Face:
    """The face, knowing what the person has had before them, and since when it stands whole there.

    A text that is longer than the screen counts once each of its lines was on the screen, and its end is there now.
    """
    item = view.asked
    if item is None:
        return face if face.seen is None else replace(face, seen=None)
    before = face.seen
    told = item["id"], item["text_hash"], view.of
    is_same = before is not None and (before.item, before.text_hash, before.of) == told
    read = before.to if before is not None and is_same else 0
    to = max(read, view.to) if view.begins <= read else read
    is_whole = to >= view.of and view.to >= view.of
    since = before.since if before is not None and is_same and before.is_whole == is_whole else at
    found = Seen(item["id"], item["text_hash"], since, to, is_whole, view.of)
    return face if found == before else replace(face, seen=found)


def _list(world: World) -> View:
    found = world.places
    at, room = world.at(found), max(1, world.list_room)
    top = _scrolled(world.face.top, at, len(found), room)
    shown = found[top : top + room]
    told = table.lines(world, shown, found[at] if found else None)
    if not found:
        told = [fitted(line(Span(part)), world.width) for part in fold(_empty(world), world.width)][:room]
    blank = [line(" " * world.width)] * (room - len(told))
    below = panel.panel(world)
    gap = [line(" " * world.width)] * (world.panel_room - len(below.lines))
    lines = [*head.lines(world), *told, *blank, *(fitted(one, world.width) for one in below.lines), *gap, *_foot(world)]
    return View(tuple(lines[: world.height]), below.whole)


def scrolled(world: World) -> int:
    """The first line of the list that is on the screen."""
    found = world.places
    return _scrolled(world.face.top, world.at(found), len(found), max(1, world.list_room))


def _scrolled(top: int, at: int, count: int, room: int) -> int:
    top = max(0, min(top, count - room))
    if at < top:
        # The heading of a group comes with its first agent.
        return max(0, at - 1)
    return at - room + 1 if at >= top + room else top


def _empty(world: World) -> str:
    """Why the list is empty, and what to do."""
    total = len(world.model.agents)
    if world.model.heard_at is None:
        return " Asking phoenixd."
    if world.face.filter:
        known = "1 agent is" if total == 1 else f"{total} agents are"
        return f" Nothing matches; {known} there. Esc ends the filter; names take patterns, such as shop-*"
    return world.face.reaching(" No agents yet. In a shell: phoenixctl demo, or phoenixctl run NAME -- claude")


def _page(world: World, page: Page) -> View:
    told = pages.body(world, page, keys.help_lines(world))
    lines = [*pages.lines(world, page, told), *_foot(world)]
    item = pages.shown_item(world, page) if page.kind == "item" else None
    space = pages.room(world)
    top = pages.clamped(page.top, len(told), space)
    return View(tuple(lines[: world.height]), item, top, min(len(told), top + space), len(told))


def _foot(world: World) -> list[Line]:
    """The question that waits for an answer, else what was told last, else the keys that do something here."""
    room, width = world.foot_room, world.width
    prompt = world.face.prompt
    if prompt is not None:
        words = "y/n" if prompt.purpose == "confirm" else f"{prompt.words}|"
        parts = fold(visible(f"{prompt.ask}{words}" if prompt.purpose != "confirm" else f"{prompt.ask} {words}"), width)
        message = safe(world.face.message)
        said = [line(Span(cut(message, width), "strong"))] if message and len(parts) < room else []
        # The end is where the person types; a question of yes or no is read from its beginning.
        shown = parts[-room:] if prompt.purpose != "confirm" else parts[:room]
        if prompt.purpose == "confirm" and len(parts) > room:
            shown[-1] = f"{shown[-1][: max(0, width - 8)]}... y/n"
        return _filled([*said, *(line(Span(part, "chosen")) for part in shown)], room, width)
    if world.face.message:
        message = safe(world.face.message)
        # A word that is longer than a line would lose its end.
        has_room = all(columns(word) <= width for word in message.split())
        parts = wrap(message, width) if has_room else fold(message, width)
        if len(parts) > room:
            parts = [*parts[: room - 1], f"{parts[room - 1][: max(0, width - 3)]}..."]
        told = [line(Span(part, "strong")) for part in parts]
        more = _hints(world, room - len(told)) if len(told) < room else []
        return _filled([*told, *(line(Span(part, "dim")) for part in more)], room, width)
    return _filled([line(Span(part, "dim")) for part in _hints(world, room)], room, width)


def _hints(world: World, room: int) -> list[str]:
    """The keys that do something here; where not all have room, the last one named is the one that shows them all."""
    lines: list[str] = []
    current, rest = "", list(keys.hints(world))
    while rest:
        told, last = rest.pop(0), len(lines) == room - 1 and bool(rest)
        joined = f"{current}  {told}" if current else f" {told}"
        if columns(joined) + (len(ALL_KEYS) if last else 0) <= world.width:
            current = joined
            continue
        if len(lines) == room - 1:
            return [*lines, f"{current}{ALL_KEYS}"]
        lines.append(current)
        current = f" {told}"
    return [*lines, current]


def _filled(told: list[Line], room: int, width: int) -> list[Line]:
    blank = [line(" " * width)] * (room - len(told))
    return [*(fitted(one, width) for one in told), *blank]


def _uncoloured(told: Line) -> Line:
    """Nothing is green, and nothing red, that may be old."""
    return tuple(Span(span.text, "" if span.style in ("work", "need", "heal", "rest") else span.style) for span in told)
