"""The earliest deadline of the fleet becomes a Tick on the supervisor's queue."""

from __future__ import annotations

import math
from collections.abc import Callable

import anyio

from phoenixd.core.moment import Instant
from phoenixd.ports import Clock


class Alarm:
    """Sleeps until the deadline it was last set to, then calls `ring`; a nearer deadline wakes it."""

    def __init__(self, clock: Clock, ring: Callable[[], None], turn: float) -> None:
        self._clock = clock
        self._ring = ring
        self._turn = turn
        self._due: Instant = math.inf
        self._asleep: anyio.CancelScope | None = None

    def set(self, due: Instant | None) -> None:
        """Ring at `due`; None means that no deadline stands."""
        due = math.inf if due is None else due
        if due == self._due:
            return
        self._due = due
        if self._asleep is not None:
            self._asleep.cancel()

    async def run(self) -> None:
        """Ring for ever: at each deadline, and at least every `turn` seconds, which proves that the loop turns."""
        while True:
            until = min(self._due, self._clock.now().at + self._turn)
            with anyio.CancelScope() as self._asleep:
                await self._clock.sleep_until(until)
                self._due = math.inf if self._clock.now().at >= self._due else self._due
                self._ring()
            self._asleep = None
