"""An event loop whose time jumps to the next timer instead of waiting for it."""

from __future__ import annotations

import asyncio
import selectors
from typing import Any


class NothingLeft(RuntimeError):
    """Every task waits for something that no timer and no file can bring about."""


class VirtualSelector(selectors.SelectSelector):
    """Waits by moving the clock. Files are never ready: a simulated host has none."""

    TURN = 1e-6
    """Seconds that a turn takes: where none passes, rounding can leave a sleeper short of its time for ever."""
    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise NothingLeft("the simulation waits for ever")
        self.now += max(self.TURN, timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """`anyio.run(main, backend_options={"loop_factory": VirtualLoop})` runs days in seconds."""

    def __init__(self) -> None:
        self._virtual = VirtualSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now
