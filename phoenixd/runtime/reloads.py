"""Signals that have the configuration applied: a loop of them makes no loop of reloads, and the last one counts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import structlog

from phoenixd.core.pace import Pace
from phoenixd.ports import Clock

MOST, WINDOW = 5, 30.0
"""Reloads within these seconds: each reads all files, may change agents, and is a row of the journal for each."""

log = structlog.get_logger()


class Reloads:
    """apply: reads what stands in the files by then, so that one reload serves all who asked before it began."""

    def __init__(self, clock: Clock, apply: Callable[[], Awaitable[None]]) -> None:
        self._clock = clock
        self._apply = apply
        self._pace = Pace(MOST, WINDOW)
        self._asked = anyio.Event()
        self._signals = 0
        self._put_off = 0
        """Signals that one reload stood for, since a reload began at once."""

    def ask(self) -> None:
        """Have it applied, at once or as soon as that may be."""
        self._signals += 1
        self._asked.set()

    async def run(self) -> None:
        """Apply, for ever."""
        while True:
            await self._asked.wait()
            await self._wait()
            self._asked, self._signals = anyio.Event(), 0
            self._pace = self._pace.did(self._clock.at())
            await self._apply()

    async def _wait(self) -> None:
        """Wait until a reload may begin; a stretch of them is told once, and at its end how many signals there were."""
        now = self._clock.at()
        due = self._pace.due(now)
        if due > now:
            if not self._put_off:
                log.warning(
                    "reloads_put_off", seconds=round(due - now, 1), signals=self._signals,
                    reason=f"SIGHUP comes in a loop: {MOST} reloads in {WINDOW:g} s are the most, and the last counts",
                    remedy="end what sends it",
                )  # fmt: skip
            await self._clock.sleep_until(due)
            self._put_off += self._signals
        elif self._put_off:
            log.info("reloads_at_once_again", signals=self._put_off)
            self._put_off = 0
