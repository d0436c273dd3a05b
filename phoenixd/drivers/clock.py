"""Supervised time: it counts only while this process was there to watch."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable

import anyio

from phoenixd.core.moment import Instant, Moment

TURN = 15.0
"""The longest sleep between two readings, in seconds."""


class SupervisedClock:
    """Time on CLOCK_MONOTONIC, from which the spans are taken out in which nobody could have seen an event (F-HB-4).

    Wall-clock jumps do not exist for CLOCK_MONOTONIC, and it stands still while the host is suspended. What is left
    is a process that was stopped (SIGSTOP, a frozen cgroup or virtual machine, a loop blocked for long): the alarm
    always waits in `sleep_until`, which reads the clock at least every 15 s, so a longer gap than `lag_limit` between
    two readings means that we were not running. Such a gap counts as nothing, and every deadline moves by it: an
    agent whose heartbeats we slept through is not called stuck.

    Supervised time starts at `base`, so that it goes on where the journal's last entry stood.
    """

    def __init__(
        self,
        base: Instant = 0.0,
        *,
        dice: random.Random | None = None,
        lag_limit: float = 30.0,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        if lag_limit <= TURN:
            raise ValueError(f"lag_limit must be more than the {TURN:g} s between two readings")
        self._at = base
        self._dice = dice or random.Random(os.urandom(32))
        self._lag_limit = lag_limit
        self._monotonic = monotonic
        self._wall = wall
        self._last_reading = monotonic()
        self.unwatched = 0.0
        """Seconds that were taken out so far."""

    def now(self) -> Moment:
        """Read the instant of a decision, with a new chance and nonce."""
        return Moment(self._read(), self._wall(), self._dice.random(), f"{self._dice.getrandbits(128):032x}")

    def at(self) -> Instant:
        """Supervised time alone; draws no chance."""
        return self._read()

    async def sleep_until(self, at: Instant) -> None:
        """Return at or shortly after `at` of supervised time; infinity is allowed, and keeps the clock read."""
        while (left := at - self._read()) > 0:  # noqa: ASYNC110 - time is the condition itself.
            # All who sleep for long read it in the same turn of the loop.
            await anyio.sleep(min(left, TURN - self._at % TURN))

    def _read(self) -> Instant:
        reading = self._monotonic()
        elapsed = reading - self._last_reading
        self._last_reading = reading
        if elapsed > self._lag_limit:
            self.unwatched += elapsed
        else:
            self._at += elapsed
        return self._at
