"""A journal that fails: what waits is kept in order and within bounds, and an order to end something gets room."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from phoenixd.errors import JournalFailed
from phoenixd.ports import Batch, Entry
from phoenixd.runtime import saving
from phoenixd.runtime.saving import Saver
from tests.runtime.test_messages import FastClock
from tests.waiting import eventually


@dataclass
class SmallDisk:
    """A journal on a disk with room for so many batches, and for some more that are held back."""

    room: int
    held_back: int = 0
    committed: list[Entry] = field(default_factory=list)
    tries: int = 0

    async def commit(self, batch: Batch) -> tuple[int, ...]:
        self.tries += 1
        if self.room == 0:
            raise JournalFailed("the disk is full")
        self.room -= 1
        first = len(self.committed)
        self.committed += batch.entries
        return tuple(range(first, len(self.committed)))

    def release_reserve(self) -> bool:
        self.room, self.held_back = self.room + self.held_back, 0
        return self.room > 0

    async def shortage(self) -> str | None:
        return "nearly full" if self.room < 2 else None


@asynccontextmanager
async def running(disk: SmallDisk, told: list[str | None]) -> AsyncIterator[Saver]:
    saver = Saver(disk, FastClock(), told.append)  # type: ignore[arg-type]
    task = asyncio.create_task(saver.run())
    yield saver
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def batch(*numbers: int) -> Batch:
    return Batch(0.0, 0.0, tuple(Entry(0.0, 0.0, "a", 1, "HookSeen", {"n": n}) for n in numbers))


def numbers(disk: SmallDisk) -> list[int]:
    return [entry.detail["n"] for entry in disk.committed]


async def test_what_a_full_disk_did_not_take_is_saved_in_order_once_there_is_room() -> None:
    disk, told = SmallDisk(room=1), list[str | None]()
    async with running(disk, told) as saver:
        assert await saver.save(batch(1, 2)) == (0, 1)
        for number in range(3, 300):
            assert await saver.save(batch(number)) is None
        assert told == ["the disk is full"]
        disk.room = 100
        await eventually(lambda: told == ["the disk is full", None])
        assert numbers(disk) == list(range(1, 300))
        assert await saver.save(batch(300)) == (299,)


async def test_an_order_that_ends_something_is_saved_on_the_space_held_back_and_starts_go_on_waiting() -> None:
    disk, told = SmallDisk(room=0, held_back=1), list[str | None]()
    async with running(disk, told) as saver:
        assert await saver.save(batch(1)) is None
        assert disk.held_back == 1, "not spent on what nobody waits for"
        assert await saver.save(batch(2), is_order=True) == (1,)
        assert numbers(disk) == [1, 2]
        assert saver.degraded is not None
        assert await saver.save(batch(3), is_order=True) is None
        disk.room = 100
        await eventually(lambda: saver.degraded is None)
        assert numbers(disk) == [1, 2, 3]
        assert told == ["the disk is full", None]


async def test_a_journal_that_fails_for_days_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "MOST_ENTRIES", 500)
    disk, told = SmallDisk(room=0), list[str | None]()
    async with running(disk, told) as saver:
        for number in range(3000):
            assert await saver.save(batch(number)) is None
        disk.room = 100
        await eventually(lambda: told == ["the disk is full", None])
    gap, *kept = disk.committed
    assert gap.event == "entries_given_up"
    assert [entry.detail["n"] for entry in kept] == list(range(3000 - len(kept), 3000))
    assert gap.detail["count"] == 3000 - len(kept)
    assert len(kept) < 600
