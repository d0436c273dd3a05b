"""The model of `phoenixctl top`: what it holds equals what was last told, however the bytes come (faces, check 3)."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phoenixd.top.frames import Frame, Reader
from phoenixd.top.model import MOST_CLOSED, Model, hear
from tests.api.fleets import one_asks
from tests.top.fleets import AT, frames, of_everything

NAMES = st.sampled_from(["docs", "shop", "web"])
NUMBERS = st.integers(1, 4)
WORDS = st.text(max_size=5)


def told(event: str, **body: Any) -> Frame:
    return Frame(event, body)


HELLO = st.booleans().map(lambda whole: told("hello", boot="b", whole=whole))
AGENT = st.builds(lambda name, word: told("agent", name=name, state=word), NAMES, WORDS)
GONE = NAMES.map(lambda name: told("gone", name=name))
ITEM = st.builds(lambda id, name, word: told("item", id=id, agent=name, text=word), NUMBERS, NAMES, WORDS)
CLOSED = st.builds(lambda id, name: told("item-closed", id=id, agent=name, by=None, how=""), NUMBERS, NAMES)
ALERT = st.builds(lambda id, over: told("alert", id=id, agent=None, text="t", over=over), NUMBERS, st.booleans())
OTHER = st.sampled_from([told("beat", now=None), told("resync", why=""), told("note", id=3), told("later", a=1)])
FRAMES = st.lists(st.one_of(HELLO, AGENT, GONE, ITEM, CLOSED, ALERT, OTHER), max_size=30)


def expected(given: list[Frame]) -> dict[str, dict[Any, Any]]:
    """Looked up backwards: the newest frame about a thing says whether it is there, and a whole hello voids before."""
    begins = max([number for number, one in enumerate(given) if one.event == "hello" and one.data["whole"]], default=0)
    found: dict[str, dict[Any, Any]] = {"agents": {}, "items": {}, "alerts": {}}
    kinds = {"agent": "agents", "gone": "agents", "item": "items", "item-closed": "items", "alert": "alerts"}
    settled: set[tuple[str, Any]] = set()
    for one in reversed(given[begins:]):
        kind = kinds.get(one.event)
        key = one.data.get("id", one.data.get("name"))
        if kind is None or (kind, key) in settled:
            continue
        settled.add((kind, key))
        if one.event in ("agent", "item") or (one.event == "alert" and not one.data["over"]):
            found[kind][key] = one.data
    return found


def held(model: Model) -> dict[str, dict[Any, Any]]:
    return {
        kind: {key: one.body for key, one in getattr(model, kind).items()} for kind in ("agents", "items", "alerts")
    }


@given(FRAMES, st.integers(0, 30))
def test_the_model_holds_what_was_last_told_in_whatever_portions(given: list[Frame], split: int) -> None:
    at_once = hear(Model(), given, 1.0)
    in_two = hear(hear(Model(), given[:split], 1.0), given[split:], 1.0)

    assert held(at_once) == held(in_two) == expected(given)
    assert at_once == in_two


@given(st.data())
def test_frames_are_read_however_the_bytes_are_cut(data: st.DataObject) -> None:
    sent = frames(one_asks())
    text = "retry: 2000\n\n: beat\n\n" + "".join(
        f"{f'id: {one.id}' + chr(10) if one.id is not None else ''}event: {one.event}\ndata: {json.dumps(one.data)}\n\n"
        for one in sent
    )
    raw, reader, came = text.encode(), Reader(), []
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    for begin, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        came += reader.feed(raw[begin:end])

    assert came == json.loads(json.dumps([vars_of(one) for one in sent]), object_hook=as_frame)


def vars_of(one: Frame) -> dict[str, Any]:
    return {"event": one.event, "frame_data": one.data, "id": one.id}


def as_frame(found: dict[str, Any]) -> Any:
    return Frame(found["event"], found["frame_data"], found["id"]) if "frame_data" in found else found


def test_the_model_knows_since_when_that_stands_by_which_a_person_decides() -> None:
    daemon = of_everything()
    model = hear(Model(), frames(daemon), AT)
    row = model.agents["shop-api"].body

    doing = {**row, "said": {"text": "still waiting", "at": None}, "cost": {"usd": 1.0}, "attached": None}
    assert hear(model, [Frame("agent", doing)], AT + 5).steady_since("shop-api") == AT
    assert hear(model, [Frame("agent", {**row, "incarnation": 2})], AT + 5).steady_since("shop-api") == AT + 5
    item = {**model.waiting("shop-api")[0], "text_hash": "other"}
    assert hear(model, [Frame("item", item)], AT + 5).steady_since("shop-api") == AT + 5
    assert hear(model, [Frame("item", item)], AT + 5).steady_since("docs") == AT


def test_the_row_names_which_of_several_items_comes_first() -> None:
    model = hear(Model(), frames(of_everything()), AT)
    (item,) = model.waiting("shop-api")
    older = {**item, "id": 1, "text": "an older one"}

    both = hear(model, [Frame("item", older)], AT)

    assert [one["id"] for one in both.waiting("shop-api")] == [item["id"], 1]


def test_of_what_was_closed_the_newest_are_kept() -> None:
    many = [told("item-closed", id=number, agent="a", by="operator", how="answered") for number in range(200)]

    closed = hear(Model(), many, AT).closed

    assert list(closed) == list(range(200 - MOST_CLOSED, 200))
    assert closed[199].by == "operator"


def test_who_comes_back_to_another_journal_begins_anew() -> None:
    model = hear(Model(), [Frame("beat", {}, 70), Frame("agent", {"name": "docs"})], AT)
    resync = [told("resync", why="row 70 is not in this journal"), told("hello", boot="c", whole=True)]

    again = hear(model, resync, AT)

    assert (model.last_id, again.last_id, dict(again.agents), again.boot) == (70, None, {}, "c")
