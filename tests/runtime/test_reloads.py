"""A loop of SIGHUPs has few reloads, the last of which reads what stands then, and one line in the log."""

from __future__ import annotations

import anyio
from structlog.testing import capture_logs

from phoenixd.core.moment import Moment
from phoenixd.runtime.reloads import MOST, WINDOW, Reloads


class HeldClock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.reading = 0.0
        self.slept: list[float] = []
        self.goes = anyio.Event()

    def at(self) -> float:
        return self.reading

    def now(self) -> Moment:
        return Moment(self.reading, self.reading)

    async def sleep_until(self, at: float) -> None:
        self.slept.append(at)
        await self.goes.wait()
        self.goes = anyio.Event()
        self.reading = max(at, self.reading)


async def test_a_loop_of_signals_reloads_a_few_times_and_applies_the_last_state_once_it_may() -> None:
    clock, state, applied = HeldClock(), 0, list[int]()

    async def apply() -> None:
        applied.append(state)

    reloads = Reloads(clock, apply)
    with capture_logs() as said:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reloads.run)
            for written in range(1, 101):
                state = written
                reloads.ask()
                await anyio.wait_all_tasks_blocked()
            assert applied == list(range(1, MOST + 1))
            assert clock.slept == [WINDOW]

            clock.goes.set()
            await anyio.wait_all_tasks_blocked()
            assert applied == [*range(1, MOST + 1), 100], "one reload for all that asked meanwhile, of what stands then"

            clock.reading += 10 * WINDOW
            reloads.ask()
            await anyio.wait_all_tasks_blocked()
            assert len(applied) == MOST + 2
            tasks.cancel_scope.cancel()

    assert [(one["event"], one["signals"]) for one in said] == [
        ("reloads_put_off", 1), ("reloads_at_once_again", 100 - MOST)
    ]  # fmt: skip


async def test_what_is_asked_for_during_a_reload_is_applied_after_it() -> None:
    clock, began, goes_on, applied = HeldClock(), 0, anyio.Event(), 0

    async def apply() -> None:
        nonlocal began, applied
        began += 1
        await goes_on.wait()
        applied += 1

    reloads = Reloads(clock, apply)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reloads.run)
        reloads.ask()
        await anyio.wait_all_tasks_blocked()
        reloads.ask()
        reloads.ask()
        goes_on.set()
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()

    assert (began, applied) == (2, 2)
