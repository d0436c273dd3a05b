"""Whether what is asked can be answered by a key now, and the order that answers it."""

from __future__ import annotations

from phoenixd.top import asked
from phoenixd.top.face import SETTLED, Order, World
from phoenixd.top.frames import Json
from phoenixd.top.head import is_quiet


def item_at(world: World) -> Json | None:
    """What is asked where the person looks: on the page of an item, else at the cursor."""
    page = world.face.page
    name = page.name if page is not None else world.name
    return next(iter(world.model.waiting(name)), None) if name else None


def why_nothing_asked(world: World) -> str:
    """Why there is nothing to open."""
    page = world.face.page
    if page is not None:
        return "it is open already" if page.kind == "item" else "what is asked is not on this page: Esc goes back"
    if world.name is None:
        return "no agent is at the cursor"
    return "" if item_at(world) is not None else f"{world.name} asks nothing"


def why_not(world: World) -> str:
    """Why no key may answer what is asked: who answers has to have all of it before them, unchanged for a while."""
    page = world.face.page
    if page is not None and page.kind != "item":
        return "what is asked is not on this page: Esc goes back"
    item = item_at(world)
    if item is None:
        name = page.name if page is not None else world.name
        return f"{name} asks nothing" if name else "no agent is at the cursor"
    if is_quiet(world):
        return "what is on the screen may be old: phoenixd does not answer now"
    number = f"#{item['id']}"
    if item["answer_by"] == "command":
        return f"{number} says what is wrong, and asks nothing: e explains it, b starts the agent"
    if item["answer_by"] != "answer":
        return f"{number} can be answered at its terminal alone: Enter attaches"
    seen = world.face.seen
    if seen is None or (seen.item, seen.text_hash) != (item["id"], item["text_hash"]):
        return f"not all of {number} is on the screen: o opens it"
    if not seen.is_whole:
        return f"{number} goes on below: read it to its end first (j, PgDn, G)"
    steady = max(seen.since, world.model.steady_since(item["agent"]))
    if world.clock.at - steady < SETTLED:
        return f"{number} has changed just now: read it, then press again"
    return ""


def why_not_allow(world: World) -> str:
    """Why `a` cannot act."""
    found, item = why_not(world), item_at(world)
    if found or item is None or not item["limits"]:
        return found
    if item["kind"] == "question":
        return f"#{item['id']} cannot be answered from here: {item['limits']}. Enter attaches"
    return f"#{item['id']} cannot be allowed from here: {item['limits']}. Enter attaches, d denies"


def why_not_deny(world: World) -> str:
    """Why `d` cannot act."""
    found, item = why_not(world), item_at(world)
    if found or item is None or item["kind"] != "question":
        return found
    return f"#{item['id']} is a question: a answers it"


def why_not_number(world: World, key: str = "1") -> str:
    """Why a number cannot answer."""
    found, item = why_not_allow(world), item_at(world)
    if found or item is None:
        return found
    if item["kind"] != "question":
        return f"#{item['id']} has no options: a allows it, d denies it"
    asks = asked.questions(item)
    if len(asks) != 1:
        return f"#{item['id']} asks {len(asks)} questions: a answers them one after the other"
    count = len(asks[0]["options"])
    return (
        "" if int(key) <= count else f"#{item['id']} has {count} options" if count else f"#{item['id']} wants words: a"
    )


def alert_at(world: World) -> Json | None:
    """What needs a person where they look: what is asked, else the newest alert of the row or of the fleet."""
    page, here = world.face.page, world.here
    if page is None and here is not None and here.kind == "alert":
        return world.model.alerts[int(here.key)].body
    if (item := item_at(world)) is not None:
        return item
    row = world.model.row((page.name if page is not None else world.name) or "") or {}
    return next((one for one in reversed(row.get("alerts") or ()) if one.get("needs_you")), None)


def why_not_ack(world: World) -> str:
    """Why `A` cannot act."""
    found, page = alert_at(world), world.face.page
    if found is None:
        name = page.name if page is not None else world.name
        return f"nothing of {name} needs you" if name else "nothing that needs you is at the cursor"
    if is_quiet(world):
        return "phoenixd does not answer now"
    ack = found.get("acknowledged")
    return f"#{found['id']} is acknowledged already, by {ack['by']}" if ack else ""


def order(item: Json, words: tuple[str, ...]) -> Order:
    """The order that answers this item with these words, and no other text than the one that was shown."""
    given = {"id": str(item["id"]), "answer": list(words), "text_hash": item["text_hash"]}
    return Order("answer_item", given, f"answer #{item['id']}", (item["agent"],))
