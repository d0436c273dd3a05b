"""Places where something was heard are looked at a moment later, and again where that may have been too early."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import anyio

from phoenixd.gathered import GATHER, Gathered, Heard
from phoenixd.side_by_side import SideBySide
from tests.runtime.test_metering import Hands


class Looked:
    """Places that are looked at: all of them, or those alone that are due."""

    def __init__(self, which: Callable[[Heard, Heard], Iterable[str]]) -> None:
        self.clock, self.which, self.seen = Hands(), which, list[tuple[str, float]]()
        self.gathered, self.looks = Gathered(self.clock), SideBySide("a look", self.look)  # type: ignore[arg-type]

    async def look(self, place: str) -> None:
        self.seen.append((place, self.clock.at()))

    async def passes(self, seconds: float) -> None:
        await anyio.wait_all_tasks_blocked()
        self.clock.advance(seconds)
        await anyio.wait_all_tasks_blocked()

    async def run(self) -> None:
        await self.gathered.look(self.looks, self.which)


async def test_what_was_heard_of_is_looked_at_once_it_may_be_written_and_nothing_wakes_anybody_afterwards() -> None:
    house = Looked(lambda every, due: every)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.run)
        await house.passes(5)
        house.gathered.note("a")
        await house.passes(0.75 * GATHER)
        house.gathered.note("b")
        await house.passes(0.25 * GATHER)
        assert house.seen == [("a", 106.0), ("b", 106.0)], "b may not be written yet"
        await house.passes(GATHER)
        assert house.seen[2:] == [("b", 107.0)]
        await house.passes(10)
        assert (len(house.seen), house.clock.sleeps) == (3, [])
        tasks.cancel_scope.cancel()


async def test_of_those_that_are_due_alone_each_is_looked_at_once_and_what_is_put_back_again() -> None:
    begun = list[dict[str, float]]()

    def due_alone(every: Heard, due: Heard) -> Iterable[str]:
        begun.append(dict(due))
        return due

    house = Looked(due_alone)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.run)
        house.gathered.note("a")
        await house.passes(0.75 * GATHER)
        house.gathered.note("b")
        await house.passes(0.25 * GATHER)
        house.gathered.put_back("a", 100.0)
        house.gathered.put_back("b", 100.0)
        await house.passes(GATHER)
        assert begun == [{"a": 100.0}, {"b": 100.75, "a": 100.0}], "what was heard of b since is newer"
        assert [place for place, _ in house.seen] == ["a", "b", "a"]
        tasks.cancel_scope.cancel()


async def test_its_end_leaves_the_looks_to_themselves() -> None:
    house = Looked(lambda every, due: every)
    hung = anyio.Event()
    ended = list[str]()

    async def hangs(place: str) -> None:
        try:
            await hung.wait()
        finally:
            ended.append(place)

    house.looks = SideBySide("a look", hangs)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.run)
        house.gathered.note("a")
        await house.passes(GATHER)
        tasks.cancel_scope.cancel()
    await anyio.wait_all_tasks_blocked()
    assert ended == ["a"]
