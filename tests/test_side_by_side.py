"""A look that hangs holds up no other, is not asked again, and loses nothing that it read."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from phoenixd import side_by_side
from phoenixd.bounded_reads import BoundedReads
from phoenixd.errors import NoAnswer
from phoenixd.side_by_side import AT_ONCE, SideBySide
from tests.waiting import eventually


class Places:
    """Places that are read by opening them: a FIFO that nobody writes hangs the reader."""

    def __init__(self, root: Path) -> None:
        self.root, self.told, self.begun = root, list[str](), list[str]()
        self.looks = SideBySide("a look", self.look)

    def fill(self, *names: str) -> None:
        for name in names:
            (self.root / name).write_text(name)

    def hang(self, *names: str) -> None:
        for name in names:
            os.mkfifo(self.root / name)

    def answer(self, name: str) -> None:
        """A hung place answers once, and is a file from then on."""
        path = self.root / name
        with path.open("w") as pipe:
            path.unlink()
            path.write_text(name)
            pipe.write(name)

    def read(self, name: str) -> str:
        self.begun.append(name)
        return (self.root / name).read_text()

    async def look(self, name: str) -> None:
        self.told.append(await self.looks.aside(lambda: self.read(name)))

    def has_told(self, name: str, times: int = 1) -> Callable[[], bool]:
        return lambda: self.told.count(name) >= times


@asynccontextmanager
async def closing(places: Places, *hung: str) -> AsyncIterator[None]:
    """Let go of the threads that hang at the end: the interpreter's next test needs none of them."""
    try:
        yield
    finally:
        places.looks.close()
        for name in hung:
            if (places.root / name).is_fifo():
                os.close(os.open(places.root / name, os.O_RDWR | os.O_NONBLOCK))


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.setattr(side_by_side, "TURN", 0.02)
    monkeypatch.setattr(side_by_side, "PATIENCE", 0.1)
    return Places(tmp_path)


async def test_however_many_places_hang_the_others_are_looked_at(places: Places) -> None:
    hung = [f"hung-{number}" for number in range(3 * AT_ONCE)]
    places.hang(*hung)
    places.fill("a", "b")
    async with closing(places, *hung):
        places.looks.ask([*hung, "a", "b"])
        await eventually(places.has_told("a"), 60)
        await eventually(places.has_told("b"), 60)


async def test_a_place_that_hangs_is_asked_once_and_again_when_it_has_answered(places: Places) -> None:
    places.hang("hung")
    places.fill("a")
    async with closing(places, "hung"):
        for _ in range(3):
            places.looks.ask(["hung", "a"])
            seen = places.told.count("a")
            await eventually(lambda seen=seen: places.told.count("a") > seen, 60)  # type: ignore[misc]
        assert places.begun.count("hung") == 1

        await anyio.to_thread.run_sync(places.answer, "hung")
        await eventually(places.has_told("hung", 2), 60, "what it read late is told, and it is looked at once more")
        assert places.begun.count("hung") == 2


async def test_no_more_threads_hang_than_are_borne(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "MOST_LATE", 2)
    most = AT_ONCE + 2
    hung = [f"hung-{number}" for number in range(most + 3)]
    places.hang(*hung)
    places.fill("a")
    async with closing(places, *hung):
        places.looks.ask([*hung, "a"])
        await eventually(lambda: len(places.begun) == most, 60)
        await eventually(lambda: sum(one.is_told for one in places.looks._under_way.values()) == most, 60)
        assert (len(places.begun), places.told) == (most, [])
        assert await places.looks.see("a") is False

        for name in hung[:4]:
            if name in places.begun:
                await anyio.to_thread.run_sync(places.answer, name)
        await eventually(places.has_told("a"), 60, "a turn that comes free goes to the next one")


async def test_who_needs_a_look_now_waits_for_its_end_and_for_no_place_that_hangs(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    places.hang("hung")
    places.fill("a")
    async with closing(places, "hung"):
        with monkeypatch.context() as patient:
            patient.setattr(side_by_side, "PATIENCE", 600.0)
            assert await places.looks.see("a")
        assert places.told == ["a"]
        assert not await places.looks.see("hung")
        await eventually(lambda: "hung" in places.begun, 60)
        assert not await places.looks.see("hung")
        assert places.begun.count("hung") == 1


async def test_a_round_ends_although_a_place_of_it_hangs(places: Places) -> None:
    places.hang("hung")
    places.fill("a", "b")
    async with closing(places, "hung"):
        for times in (1, 2):
            await places.looks.look_at(["a", "hung", "b"])
            looked = functools.partial(
                lambda so_often: [places.told.count(one) for one in "ab"] == so_often, [times] * 2
            )
            await eventually(looked, 60, "on a busy machine a place that answers may be late as well")


async def test_two_who_wait_for_rounds_are_both_woken(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "PATIENCE", 600.0)
    places.hang("slow")
    places.fill("a")
    async with closing(places, "slow"):
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(places.looks.look_at, ["slow"])
                await eventually(lambda: bool(places.begun), 60)
                tasks.start_soon(places.looks.look_at, ["slow", "a"])
                await eventually(places.has_told("a"), 60)
                await anyio.to_thread.run_sync(places.answer, "slow")


async def test_a_fault_costs_one_look(places: Places) -> None:
    places.fill("a")
    async with closing(places):
        for times in (1, 2):
            await places.looks.look_at(["missing", "a"])
            # On a busy machine a look takes longer than it is waited for here.
            await eventually(places.has_told("a", times), 60)
    assert places.told == ["a", "a"]


async def test_a_look_that_hangs_holds_up_no_end(places: Places) -> None:
    """Nobody has to wait for a thread that hangs, and a daemon has to end."""
    places.hang("hung")
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(places.looks.aside, lambda: places.read("hung"))
            await eventually(lambda: bool(places.begun), 60)
            tasks.cancel_scope.cancel()
    os.close(os.open(places.root / "hung", os.O_RDWR | os.O_NONBLOCK))


async def test_a_bounded_read_is_given_up_and_its_place_not_asked_until_it_ends() -> None:
    reads, goes_on, asked = BoundedReads(), threading.Event(), list[str]()

    def hangs() -> str:
        asked.append("hung")
        goes_on.wait(60)
        return "late"

    for _ in range(3):
        with pytest.raises(NoAnswer, match=r"^/mnt/dead "):
            await reads.of("/mnt/dead", hangs, 0.05)
    assert asked == ["hung"]
    assert await reads.of("/mnt/well", lambda: "well", 60) == "well"

    goes_on.set()
    await eventually(lambda: not reads._silent, 60)
    assert await reads.of("/mnt/dead", hangs, 60) == "late"


async def test_what_a_bounded_read_raises_is_raised() -> None:
    def fails() -> str:
        raise FileNotFoundError

    with pytest.raises(FileNotFoundError):
        await BoundedReads().of("a", fails, 60)
