"""A journal in memory. What becomes of each attempt to commit is written beforehand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Literal

from phoenixd.errors import JournalFailed
from phoenixd.ports.journal import Batch
from tests.simulate.host import Host
from tests.simulate.memory_journal import MemoryJournal

Fate = Literal["lands", "late", "fails", "dies before", "dies after"]
FATES: tuple[Fate, ...] = ("late", "fails", "dies before", "dies after")
LATENESS = 5.0
"""Seconds: longer than the supervisor waits before it goes on without the journal."""


class Died(BaseException):
    """kill -9, at this instruction."""


class FatedJournal(MemoryJournal):
    """What becomes of the n-th attempt to commit is written beforehand; an attempt that is not named there lands."""

    def __init__(self, host: Host, fates: Mapping[int, Fate], landed: Callable[[Batch], None]) -> None:
        super().__init__(host)
        self.fates = dict(fates)
        self.attempts = 0
        self._landed = landed

    async def commit(self, batch: Batch) -> tuple[int, ...]:
        self.attempts += 1
        fate = self.fates.get(self.attempts, "lands")
        if fate == "late":
            await asyncio.sleep(LATENESS)
        if fate == "fails":
            raise JournalFailed("the disk is full")
        if fate == "dies before":
            raise Died
        seqs = await super().commit(batch)
        self._landed(batch)
        if fate == "dies after":
            raise Died
        return seqs
