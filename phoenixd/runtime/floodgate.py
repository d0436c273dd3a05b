"""While an operator is being answered, what agents tell by the thousand stays in the sockets of their shims.

A request passes through the event loop a dozen times on its way to a turn and back, and beside a flood each pass is
long. Time is lent for it, and given back: however much is asked, the flood has as much time as requests had.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

MOST = 0.05
"""Seconds for which the gate stays shut at most: a slow disk, or an order that takes minutes, holds up no agent."""
LEAST = 0.002
"""Seconds for which it is worth to be shut."""


class Floodgate:
    """Shut as long as somebody asks and time is left for it. `heard` is told of each change."""

    def __init__(
        self, heard: Callable[[bool], None] = lambda is_shut: None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._heard = heard
        self._clock = clock
        self._asking: set[object] = set()
        self._left, self._changed_at = MOST, clock()
        self._opening: asyncio.TimerHandle | None = None

    @property
    def is_shut(self) -> bool:
        return self._opening is not None

    def enter(self, who: object) -> None:
        """A client asks that is no agent, as far as is known."""
        if self._opening is None:
            now = self._clock()
            left = min(MOST, self._left + now - self._changed_at)
            if left < LEAST:
                return
            self._left, self._changed_at = left, now
            self._opening = asyncio.get_running_loop().call_later(left, self._open)
            self._asking.add(who)
            self._heard(True)
        self._asking.add(who)

    def leave(self, who: object) -> None:
        """That client was answered, or asks no more. Further calls change nothing."""
        self._asking.discard(who)
        if not self._asking:
            self._open()

    def _open(self) -> None:
        self._asking.clear()
        if self._opening is None:
            return
        self._opening.cancel()
        self._opening = None
        now = self._clock()
        self._left, self._changed_at = max(0.0, self._left - (now - self._changed_at)), now
        self._heard(False)
