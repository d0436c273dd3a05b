"""What is due of a turn is done once the turn is durable: kept beside the journal, acted, acknowledged, answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import anyio

from phoenixd.core.actions import Action, Kill, Terminate
from phoenixd.core.actions import LookAtScreen as Look
from phoenixd.runtime.dues import Due, Dues
from phoenixd.runtime.saving import Ticket


class House:
    """Turns whose tickets a test makes durable, and a log of what was done."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.withholds = False
        self.written: dict[str, anyio.Event] = {}
        self.later: list[anyio.Event] = []
        self.dues = Dues(self.act, lambda: self.withholds, self.later.append)

    def act(self, action: Action) -> None:
        self.done.append(f"{type(action).__name__} {action.agent}")  # type: ignore[union-attr]

    def keeps(self, name: str, *, at_once: bool) -> Callable[[], anyio.Event | None]:
        def keep() -> anyio.Event | None:
            self.done.append(f"keep {name}")
            self.written[name] = anyio.Event()
            return None if at_once else self.written[name]

        return keep

    def turn(self, name: str, *actions: Action, keep: bool = False, saved: bool = True) -> Due:
        ticket = Ticket(1) if saved else None
        kept = self.keeps(name, at_once=not keep) if saved else None
        due = Due(ticket, list(actions), [lambda: self.done.append(f"receipt {name}")], kept)
        due.answers.append(lambda refusal: self.done.append(f"answer {name} {refusal}"))
        self.dues.add(due)
        return due

    def lands(self, due: Due) -> None:
        assert due.ticket is not None
        due.ticket.seqs = (1,)
        due.ticket.done.set()


async def test_promise_6_nothing_of_a_turn_happens_before_it_is_durable_and_kept() -> None:
    house = House()
    due = house.turn("one", Look("a", 1), keep=True)
    assert house.done == []
    house.lands(due)
    house.dues.settle()
    house.dues.settle()
    assert house.done == ["keep one"], "it is kept once, before anything else"
    assert house.later == [house.written["one"]]
    house.written["one"].set()
    house.dues.settle()
    assert house.done == ["keep one", "LookAtScreen a", "receipt one", "answer one None"]


async def test_promise_6_turns_follow_each_other_also_those_that_had_nothing_to_save() -> None:
    house = House()
    first, second = house.turn("one", Look("a", 1)), house.turn("two", Look("b", 1))
    house.turn("three", Look("c", 1), saved=False)
    house.lands(second)
    house.dues.settle()
    assert house.done == []
    house.lands(first)
    house.dues.settle()
    assert [word for word in house.done if word.startswith("Look")] == [
        "LookAtScreen a",
        "LookAtScreen b",
        "LookAtScreen c",
    ]


async def test_a_daemon_that_ends_waits_for_what_is_late_and_for_what_is_being_kept() -> None:
    house = House()
    first, second = house.turn("one", Look("a", 1), keep=True), house.turn("two", Look("b", 1), keep=True)
    over = asyncio.create_task(house.dues.carried_out())
    for due, name in ((first, "one"), (second, "two")):
        await asyncio.sleep(0)
        house.lands(due)
        while name not in house.written:
            await asyncio.sleep(0)
        assert not over.done()
        house.written[name].set()
    await asyncio.wait_for(over, 60)

    assert house.done[-3:] == ["LookAtScreen b", "receipt two", "answer two None"]
    await House().dues.carried_out()


async def test_what_ends_processes_waits_for_no_journal_and_is_done_once() -> None:
    house = House()
    due = house.turn("one", Terminate("a", 1), Look("a", 1), Kill("b", 1))

    assert not house.dues.go_on_without(due, forget=True)
    assert house.done == ["Terminate a", "Kill b"]
    house.lands(due)
    house.dues.settle()
    assert house.done == ["Terminate a", "Kill b", "keep one", "LookAtScreen a", "receipt one", "answer one None"]
    assert house.dues.go_on_without(due, forget=True), "all of it was carried out"


async def test_a_turn_from_which_nothing_more_follows_is_forgotten_where_that_is_asked() -> None:
    for forget in (False, True):
        house = House()
        due = Due(Ticket(1), [Terminate("a", 1)], [])
        house.dues.add(due)
        assert house.dues.go_on_without(due, forget=forget) is False
        assert due.ticket is not None
        assert due.ticket.is_forgotten is forget
        assert house.dues.go_on_without(due, forget=forget) is forget
    for follows in ({"actions": [Look("a", 1)]}, {"receipts": [lambda: None]}, {"answers": [lambda refusal: None]}):
        due = Due(**{"ticket": Ticket(1), "actions": [], "receipts": [], **follows})  # type: ignore[arg-type]
        house.dues.add(due)
        house.dues.go_on_without(due, forget=True)
        assert due.ticket is not None
        assert not due.ticket.is_forgotten, "something follows from it"


async def test_what_is_withheld_is_done_when_it_is_released_and_what_ends_processes_at_once() -> None:
    house = House()
    house.withholds = True
    due = house.turn("one", Look("a", 1), Terminate("b", 1))
    house.lands(due)
    house.dues.settle()
    assert ([word for word in house.done if word.split()[0] in ("LookAtScreen", "Terminate")], house.dues.withheld) == (
        ["Terminate b"], 1
    )  # fmt: skip
    house.withholds = False
    house.dues.release()
    assert (house.done[-1], house.dues.withheld) == ("LookAtScreen a", 0)
