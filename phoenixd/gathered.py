"""Places where something was heard are looked at a moment later, and again where that may have been too early."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import anyio

from phoenixd.core.moment import Instant
from phoenixd.ports import Clock
from phoenixd.side_by_side import SideBySide

GATHER = 1.0
"""Seconds between what was heard and the look."""

Heard = Mapping[str, Instant]
"""Places, and when each was heard of last."""


class Gathered:
    """Gathers places, and has them looked at."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: dict[str, Instant] = {}
        self._arrived = anyio.Event()

    def note(self, place: str) -> None:
        """Something was heard of this place now."""
        self._waiting[place] = self._clock.at()
        self._arrived.set()

    def put_back(self, place: str, heard: Instant) -> None:
        """What was heard of this place is looked for once more, unless something newer was heard of it."""
        self._waiting.setdefault(place, heard)
        self._arrived.set()

    async def look(self, looks: SideBySide, which: Callable[[Heard, Heard], Iterable[str]]) -> None:
        """Look for ever. which: of all places, and of those that were heard of long enough ago, what to look at now."""
        try:
            while True:
                await self._arrived.wait()
                await self._clock.sleep_until(self._clock.at() + GATHER)
                every, began, self._arrived = self._waiting, self._clock.at(), anyio.Event()
                # What was heard of a moment ago may not be written yet: that place is looked at once more.
                self._waiting = {place: heard for place, heard in every.items() if heard > began - GATHER}
                if self._waiting:
                    self._arrived.set()
                looks.ask(which(every, {place: heard for place, heard in every.items() if heard <= began - GATHER}))
        finally:
            looks.close()
