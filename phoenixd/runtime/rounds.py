"""Looks at what no event tells of, again and again, by the daemon's own clock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import anyio

from phoenixd.ports import Clock


@dataclass(frozen=True, slots=True)
class Look:
    """A look at `what`. every: seconds between two."""

    what: str
    every: float
    look: Callable[[], Awaitable[object]]


class Rounds:
    """Looks for ever. A look that takes long holds up no other one."""

    def __init__(self, clock: Clock, looks: Sequence[Look]) -> None:
        self._clock = clock
        self._looks = looks

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            for one in self._looks:
                tasks.start_soon(self._repeat, one)

    async def _repeat(self, one: Look) -> None:
        while True:
            await self.rest(one.every)
            await one.look()

    async def rest(self, every: float) -> None:
        """Sleep until the next multiple of a pace: looks that fall together wake the daemon once."""
        await self._clock.sleep_until((self._clock.at() // every + 1) * every)
