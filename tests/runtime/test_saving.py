"""A journal that fails: what waits is kept in order and within bounds, and an order to end something gets room."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.durability import Durability
from phoenixd.drivers.clock import SupervisedClock
from phoenixd.errors import JournalFailed
from phoenixd.ports.journal import Batch, Entry
from phoenixd.runtime import saving
from phoenixd.runtime.saving import Saver
from tests.agents import an_agent
from tests.core.story import spec
from tests.waiting import eventually


@dataclass
class SmallDisk:
    """A journal on a disk with room for a few batches, and for some more that are held back."""

    room: int
    held_back: int = 0
    committed: list[Entry] = field(default_factory=list)
    tries: int = 0

    async def commit(self, batch: Batch) -> tuple[int, ...]:
        self.tries += 1
        if self.room == 0:
            raise JournalFailed("the disk is full")
        self.room -= 1
        first = len(self.committed) + 1
        self.committed += batch.entries
        return tuple(range(first, len(self.committed) + 1))

    def release_reserve(self) -> bool:
        self.room, self.held_back = self.room + self.held_back, 0
        return self.room > 0

    async def shortage(self) -> str | None:
        return "nearly full" if self.room < 2 else None


@dataclass
class Told:
    """What the saver said: why nothing begins, whenever that changes, and what landed late."""

    held: list[str] = field(default_factory=list)
    landed: list[int] = field(default_factory=list)
    failed: int = 0

    def fail(self) -> None:
        self.failed += 1


@asynccontextmanager
async def running(disk: SmallDisk, told: Told) -> AsyncIterator[Saver]:
    def changed(before: Durability, at: float) -> None:
        if saver.known.withholds != before.withholds:
            told.held.append(saver.known.withholds)

    clock = SupervisedClock()
    saver = Saver(disk, clock, changed, lambda: batch(), told.landed.append, told.fail)  # type: ignore[arg-type]
    task = asyncio.create_task(saver.run())
    yield saver
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def batch(*numbers: int) -> Batch:
    return Batch(0.0, 0.0, tuple(Entry(0.0, 0.0, "a", 1, "HookSeen", {"n": n}) for n in numbers))


def numbers(disk: SmallDisk) -> list[int]:
    return [entry.detail["n"] for entry in disk.committed]


async def test_what_a_full_disk_did_not_take_is_saved_in_order_once_there_is_room() -> None:
    disk, told = SmallDisk(room=1), Told()
    async with running(disk, told) as saver:
        assert (await saver.save(batch(1, 2))).seqs == (1, 2)
        for number in range(3, 300):
            assert (await saver.save(batch(number))).seqs is None
        assert told.held == ["the disk is full"]
        disk.room = 100
        await eventually(lambda: told.held == ["the disk is full", ""])
        assert numbers(disk) == list(range(1, 300))
        assert (await saver.save(batch(300))).seqs == (300,)


async def test_an_order_that_ends_something_is_saved_on_the_space_held_back_and_starts_go_on_waiting() -> None:
    disk, told = SmallDisk(room=0, held_back=1), Told()
    async with running(disk, told) as saver:
        assert (await saver.save(batch(1))).seqs is None
        assert disk.held_back == 1, "not spent on what nobody waits for"
        assert (await saver.save(batch(2), is_order=True)).seqs == (2,)
        assert numbers(disk) == [1, 2]
        assert saver.known.withholds == "nearly full"
        assert (await saver.save(batch(3), is_order=True)).seqs is None
        disk.room = 100
        await eventually(lambda: not saver.known.withholds)
        assert numbers(disk) == [1, 2, 3]
    assert (told.held[0], told.held[-1], told.held.count("")) == ("the disk is full", "", 1)


async def test_room_is_seen_again_though_nothing_is_there_to_be_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else starts would wait for ever: they are what would be saved next."""
    monkeypatch.setattr(saving, "RETRY", 0.01)
    disk, told = SmallDisk(room=0, held_back=1), Told()
    async with running(disk, told) as saver:
        assert (await saver.save(batch(1))).seqs is None
        assert (await saver.save(batch(2), is_order=True)).seqs == (2,)
        await eventually(lambda: saver.known.withholds == "nearly full")
        disk.room = 100
        await eventually(lambda: not saver.known.withholds)
        assert disk.room == 100


async def test_a_journal_that_fails_for_days_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "MOST_ENTRIES", 500)
    disk, told = SmallDisk(room=0), Told()
    async with running(disk, told) as saver:
        tickets = [await saver.save(batch(number)) for number in range(3000)]
        assert all(ticket.seqs is None for ticket in tickets)
        disk.room = 100
        await eventually(lambda: told.held == ["the disk is full", ""])
        assert [seq for ticket in tickets for seq in ticket.seqs or ()] == [
            *(0 for _ in range(3000 - len(disk.committed) + 1)),
            *range(2, len(disk.committed) + 1),
        ], "a row that was given up has no number, and each other its own"
    gap, *kept = disk.committed
    assert gap.event == "entries_given_up"
    assert [entry.detail["n"] for entry in kept] == list(range(3000 - len(kept), 3000))
    assert gap.detail["count"] == 3000 - len(kept)
    assert len(kept) < 600


def test_many_batches_that_wait_are_one_with_each_agents_newest_word() -> None:
    def of(*agents: Agent, removed: dict[str, int] | None = None, **more: Any) -> Batch:
        return Batch(0.0, 0.0, changed=agents, removed=tuple((removed or {}).items()), **more)

    a, b, c = (an_agent(spec=spec(name)) for name in "abc")
    newer = replace(a, restarts=3)

    def merged(*batches: Batch) -> tuple[tuple[Agent, ...], dict[str, int]]:
        found = saving._merge(list(batches))
        return found.changed, dict(found.removed)

    assert merged(of(a, b), of(newer)) == ((newer, b), {})
    assert merged(of(a, b), of(removed={"a": 4})) == ((b,), {"a": 4})
    assert merged(of(a, b), of(removed={"a": 4}), of(newer)) == ((newer, b), {}), "it was declared again"
    assert merged(of(removed={"a": 4}), of(removed={"a": 5, "c": 1}), of(b)) == ((b,), {"a": 5, "c": 1})
    assert merged(of(c, removed={"b": 2}), of(a)) == ((c, a), {"b": 2})
    assert saving._merge([of(after_row=7), of(after_row=3)]).after_row == 7
    assert saving._merge([batch(1, 2), batch(3)]).entries == (*batch(1, 2).entries, *batch(3).entries)
    whole = of(a, removed={"b": 2})
    assert saving._merge([whole]) is whole


def test_of_tickets_on_which_nothing_hangs_one_stands_for_all_in_between() -> None:
    def tickets(*which: str) -> list[saving.Ticket]:
        return [saving.Ticket(entries, is_forgotten=word == "forgotten") for entries, word in enumerate(which, 1)]

    kept = saving._remembered(tickets("forgotten", "forgotten", "waited for", "forgotten", "forgotten", "forgotten"))
    assert [(one.entries, one.is_forgotten) for one in kept] == [(3, True), (3, False), (15, True)]
    kept = saving._remembered(tickets("waited for", "waited for", "forgotten"))
    assert [one.entries for one in kept] == [1, 2, 3]
    assert saving._remembered([]) == []
