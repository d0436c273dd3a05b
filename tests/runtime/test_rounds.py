"""What is looked at periodically: by the clock of the daemon alone, each at its own pace, and listed in one place."""

from __future__ import annotations

import ast
from pathlib import Path

import anyio
import pytest

from phoenixd.core.moment import Moment
from phoenixd.runtime.rounds import Look, Rounds

PACKAGE = Path(__file__).resolve().parents[2] / "phoenixd"


class HandClock:
    """Time that a test moves; all that sleep are woken when it has come."""

    def __init__(self) -> None:
        self.time = 0.0
        self._moved = anyio.Event()

    def at(self) -> float:
        return self.time

    def now(self) -> Moment:
        return Moment(self.time, self.time)

    async def sleep_until(self, at: float) -> None:
        while self.time < at:
            await self._moved.wait()

    async def move(self, seconds: float) -> None:
        """Second by second, until everybody who was woken sleeps again."""
        for _ in range(int(seconds)):
            self.time += 1
            moved, self._moved = self._moved, anyio.Event()
            moved.set()
            await anyio.wait_all_tasks_blocked()


async def test_each_look_has_its_pace_and_a_slow_one_holds_up_no_other() -> None:
    clock, seen, stuck = HandClock(), list[tuple[str, float]](), anyio.Event()

    async def quick() -> None:
        seen.append(("quick", clock.time))

    async def slow() -> None:
        seen.append(("slow", clock.time))
        await stuck.wait()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Rounds(clock, [Look("a", 3, quick), Look("b", 5, slow)]).run)
        await anyio.wait_all_tasks_blocked()
        await clock.move(12)
        assert seen == [("quick", 3), ("slow", 5), ("quick", 6), ("quick", 9), ("quick", 12)]
        stuck.set()
        await anyio.wait_all_tasks_blocked()
        await clock.move(5)
        assert seen[5:] == [("quick", 15), ("slow", 15)], "the next multiple of its pace"
        tasks.cancel_scope.cancel()


async def test_a_look_that_fails_is_not_swallowed() -> None:
    clock = HandClock()

    async def fails() -> None:
        raise OSError("no descriptor")

    async def play() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Rounds(clock, [Look("a", 1, fails)]).run)
            await anyio.wait_all_tasks_blocked()
            await clock.move(1)

    with pytest.raises(ExceptionGroup, match="unhandled"):
        await play()


@pytest.mark.parametrize("room", ["start", "runtime", "wiring"])
def test_nobody_sleeps_by_another_clock_in(room: str) -> None:
    """A look in a loop of its own would be on no list."""
    sleeps = [
        f"{path.name}:{node.lineno}"
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("anyio.sleep", "asyncio.sleep", "time.sleep")
    ]

    assert sleeps == []
