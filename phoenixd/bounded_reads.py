"""Blocking reads of places that may hang: each is waited for some seconds at most, and a place that hangs is not asked
again until it answers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import anyio
import structlog
from anyio import to_thread

from phoenixd.errors import NoAnswer

MOST = 64
"""Reads at once, those included that hang: as many threads, and none of those that others of the daemon need."""

T = TypeVar("T")

log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class _Read:
    has_begun: bool = False
    is_over: bool = False


class BoundedReads:
    """Reads in threads of its own. A read that was given up goes on in its thread until it ends, and tells nobody."""

    def __init__(self) -> None:
        self._threads = anyio.CapacityLimiter(MOST)
        self._silent: dict[str, _Read] = {}
        """The read of each place that did not come back in time, and has not since."""
        self._lock = threading.Lock()

    async def of(self, place: str, read: Callable[[], T], patience: float) -> T:
        """What this read of a place tells within `patience` seconds; raises NoAnswer, at once where an earlier read of
        the same place hangs still."""
        if place in self._silent:
            raise NoAnswer(f"{place} does not answer, and has not for a while")
        reading = _Read()

        def run() -> T:
            reading.has_begun = True
            try:
                return read()
            finally:
                with self._lock:
                    reading.is_over = True
                    if self._silent.get(place) is reading:
                        del self._silent[place]

        with anyio.move_on_after(patience):
            return await to_thread.run_sync(run, abandon_on_cancel=True, limiter=self._threads)
        with self._lock:
            if reading.has_begun and not reading.is_over:
                self._silent[place] = reading
        log.warning("files_do_not_answer", place=place, seconds=patience)
        raise NoAnswer(f"{place} gave no answer in {patience:g} s")
