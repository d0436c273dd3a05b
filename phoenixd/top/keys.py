"""The one table of keys: what each does, and why it cannot here. `?` prints it, and a key that cannot act says why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from phoenixd.api.pages.layout import wrap
from phoenixd.top import answering
from phoenixd.top.face import Face, World
from phoenixd.top.groups import FINE
from phoenixd.top.head import is_quiet
from phoenixd.top.spans import Line, Span, line

Why = Callable[[World], str]
OF_NO_AGENT = "this alert is about no single agent: phoenixctl doctor tells more"
NUMBERS = tuple("123456789")


@dataclass(frozen=True, slots=True)
class Key:
    """keys: as they are pressed; label: as they are printed; does: what they do; why: why not, empty where they can.

    is_told: the foot names it where it can act.
    """

    keys: tuple[str, ...]
    label: str
    does: str
    why: Why
    action: str
    is_told: bool = True


def _no_agent(world: World) -> str:
    """Why there is no agent that could be meant."""
    if world.face.page is not None:
        return "" if world.face.page.name else "no agent is on this page: Esc goes back"
    here = world.here
    if here is None:
        return "the list is empty"
    if here.kind in ("group", "more"):
        return "no agent is at the cursor: j and k go to one"
    return world.face.reaching(OF_NO_AGENT) if here.kind == "alert" else ""


def _on_the_list(why: Why) -> Why:
    """The same, but on a page the list has to be seen first."""
    return lambda world: (
        "the list is not on the screen: Esc goes back to it" if world.face.page is not None else why(world)
    )


def _always(world: World) -> str:
    return ""


def _no_order(world: World) -> str:
    """Why nothing can be ordered now of the marked agents, or of the one at the cursor."""
    if is_quiet(world):
        return "phoenixd does not answer now"
    return "" if world.face.marks else _no_agent(world)


def _not_in(states: tuple[str, ...], told: str, world: World) -> str:
    """Why an order makes no sense for the one agent that it is about."""
    if found := _no_order(world):
        return found
    row = world.model.row(world.name or "")
    if world.face.marks or row is None or row["state"] not in states:
        return ""
    return f"{row['name']} {told}"


def _unread(world: World) -> str:
    """Why no message can be sent: one that does not run reads nothing."""
    if found := _no_order(world):
        return found
    row = world.model.row(world.name or "")
    if world.face.marks or row is None or row["state"] not in ("stopped", "quarantined"):
        return ""
    return f"{row['name']} is {row['state']}: nobody would read it"


def _no_fold(world: World) -> str:
    return "" if world.here is not None else "the list is empty"


def _nothing_needs(world: World) -> str:
    groups = [told.body.get("group") for told in world.model.agents.values()]
    return "" if "needs_you" in groups else "nothing needs you"


def _nowhere_back(world: World) -> str:
    face = world.face
    return "" if face.page or face.filter or face.marks else "there is nothing to go back from: q quits"


def _no_keys(world: World) -> str:
    return "this is the page of the keys: Esc goes back" if world.face.page and world.face.page.kind == "keys" else ""


def _no_answer(world: World) -> str:
    return "phoenixd does not answer now" if is_quiet(world) else ""


def _not_muted(world: World) -> str:
    if found := _no_order(world):
        return found
    row = world.model.row(world.name or "")
    return (
        "" if world.face.marks or row is None or row.get("muted_until") else f"{row['name']} is not muted: m mutes it"
    )


TABLE: tuple[Key, ...] = (
    Key(("a",), "a", "allow once, approve, or answer what is asked", answering.why_not_allow, "allow"),
    Key(("d",), "d", "deny, with your words", answering.why_not_deny, "deny"),
    Key(NUMBERS, "1-9", "answer with this option", answering.why_not_number, "number"),
    Key(("o",), "o", "open all that is asked", answering.why_nothing_asked, "open"),
    Key(("n",), "n", "next that needs you", _on_the_list(_nothing_needs), "next"),
    Key(("enter",), "Enter", "attach to the terminal; on a heading: open it", _on_the_list(_no_fold), "enter"),
    Key(("p",), "p", "peek: what its terminal shows", _no_agent, "screen"),
    Key(("e",), "e", "explain: why it is as it is", _no_agent, "explain"),
    Key(("l",), "l", "log: what it said and did", _no_agent, "log"),
    Key(("t",), "t", "its lives, one run a line", _no_agent, "lives"),
    Key(
        ("b",),
        "b",
        "begin: start",
        _on_the_list(partial(_not_in, ("running", "starting"), "runs already: r restarts it")),
        "start",
    ),
    Key(("f",), "f", "start afresh, in a new session (asks; u takes it back)", _on_the_list(_no_order), "fresh"),
    Key(("r",), "r", "restart (asks)", _on_the_list(_no_order), "restart"),
    Key(
        ("s",),
        "s",
        "stop (asks; u takes it back)",
        _on_the_list(partial(_not_in, ("stopped",), "is stopped already")),
        "stop",
    ),
    Key(("M",), "M", "send a message, which cannot be taken back", _on_the_list(_unread), "send", False),
    Key(("D",), "D", "remove: stop and forget (asks; u takes it back)", _on_the_list(_no_order), "remove", False),
    Key(("u",), "u", "undo the newest stop, removal, fresh start or mute (asks)", _on_the_list(_no_answer), "undo"),
    Key(
        ("m",),
        "m",
        "mute: nobody is told of its alerts for a time (asks how long)",
        _on_the_list(_no_order),
        "mute",
        False,
    ),
    Key(("U",), "U", "unmute: people are told of its alerts again", _on_the_list(_not_muted), "unmute", False),
    Key(("A",), "A", "acknowledge what needs you: it stands, and is shown apart", answering.why_not_ack, "ack", False),
    Key(("c",), "c", "closed: what waited, by whom and how it ended", _on_the_list(_no_answer), "closed", False),
    Key(("space",), "space", "mark, for s r b f m U M D", _on_the_list(_no_agent), "mark"),
    Key(("V",), "V", "mark all that are listed, or none", _on_the_list(_no_fold), "mark_all", False),
    Key(("tab",), "Tab", "open or fold the group", _on_the_list(_no_fold), "fold"),
    Key(("/",), "/", "filter: shop-*, s:idle, p:web, !docs", _on_the_list(_always), "filter"),
    Key(("j", "down"), "j", "down", _always, "down", False),
    Key(("k", "up"), "k", "up", _always, "up", False),
    Key(("g", "home"), "g", "to the top", _always, "first", False),
    Key(("G", "end"), "G", "to the end", _always, "last", False),
    Key(("pagedown", "ctrl+f"), "PgDn", "a screen down", _always, "page_down", False),
    Key(("pageup", "ctrl+b"), "PgUp", "a screen up", _always, "page_up", False),
    Key(("?",), "?", "these keys", _no_keys, "keys"),
    Key(("escape",), "Esc", "back; it never does anything else", _nowhere_back, "back", False),
    Key(("q", "ctrl+c"), "q", "quit; from a page: back", _always, "quit"),
)
BY_KEY: dict[str, Key] = {spelled: key for key in TABLE for spelled in key.keys}


def hints(world: World) -> Iterator[str]:
    """The keys that do something here, in a word or two each."""
    for key in TABLE:
        if key.is_told and not key.why(world):
            yield f"{key.label} {_short(key, world)}"


def help_lines(world: World) -> list[Line]:
    """What is possible here, then what is not, and why. Of the list, where this page covers it."""
    covered = replace(world, face=_uncovered(world))
    can = [(key, "") for key in TABLE if not key.why(covered)]
    cannot = [(key, why) for key in TABLE if (why := key.why(covered))]
    found = [line(Span("here", "strong"))]
    found += [one for key, why in can for one in _told(key, why, world.width - 1)]
    found += [line(""), line(Span("not here", "strong"))]
    return found + [one for key, why in cannot for one in _told(key, why, world.width - 1)]


def _told(key: Key, why: str, width: int) -> Iterator[Line]:
    words = f"{key.does}: {why}" if why else key.does
    first, *rest = wrap(words, max(8, width - 8))
    yield line(f" {key.label:<6} ", first)
    yield from (line("        ", part) for part in rest)


def _uncovered(world: World) -> Face:
    page = world.face.page
    return replace(world.face, page=None) if page is not None and page.kind == "keys" else world.face


def _short(key: Key, world: World) -> str:
    here = world.here
    if key.action == "enter" and here is not None and here.kind in ("group", "more"):
        return "open"
    if key.action == "fold" and here is not None and here.group in FINE:
        return "open" if world.is_folded(here.group) else "fold"
    if key.action == "allow" and (item := answering.item_at(world)) is not None:
        return ANSWERED.get(item["kind"], "allow once")
    return WORDS.get(key.action, key.action)


WORDS = {
    "number": "option",
    "next": "next that needs you",
    "enter": "attach",
    "screen": "peek",
    "fold": "group",
}
ANSWERED = {"question": "answer", "plan": "approve"}
"""What `a` does with an item that is no permission."""
