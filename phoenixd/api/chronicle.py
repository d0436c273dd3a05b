"""Looking back: digests of the journal that continue where they stopped, and when each operator last looked."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress

from phoenixd.api.history import Digest
from phoenixd.errors import JournalFailed
from phoenixd.ports.journal import Journal

HOUR = 3600.0
DAY = 24 * HOUR
SITTING = 600.0
"""Looks within ten minutes of one another are one sitting: the second does not hide what the first has shown."""
WRITE_EVERY = 60.0
PAGE_ROWS = 1000
KEPT_DIGESTS = 16
PATIENCE = 0.5
"""Seconds that an answer waits for the note of a look to be kept."""


class Chronicle:
    """Reads the journal for people. One digest for each starting time is kept and fed only with what is new."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._digests: OrderedDict[float, Digest] = OrderedDict()
        self._looks: dict[int, tuple[float, float]] = {}
        self._written: dict[int, float] = {}
        self._seen: dict[int, float] = {}
        self._turn = asyncio.Lock()

    async def digest(self, since: float) -> Digest:
        """What happened from a wall time until now."""
        async with self._turn:
            digest = self._digests.pop(since, None) or Digest(since)
            self._digests[since] = digest
            while len(self._digests) > KEPT_DIGESTS:
                self._digests.popitem(last=False)
            while rows := await self._journal.read(after=digest.last_seq, since_wall=since, limit=PAGE_ROWS):
                digest.feed(rows)
            return digest

    async def digest_of(self, since: float, names: Sequence[str]) -> Digest:
        """The same of these agents alone, by the names that the journal has; what it lacks is judged by the whole."""
        whole = await self.digest(since)
        digest = Digest(since, fell=whole.terminals.runs)
        while rows := await self._journal.read(agent=names, after=digest.last_seq, since_wall=since, limit=PAGE_ROWS):
            digest.feed(rows)
        digest.complete = whole.complete
        return digest

    async def begins(self, since: float) -> float | None:
        """Wall time of the journal's first row, when older ones were there and are gone; None when it reaches back."""
        first = await self._journal.read(limit=1)
        return first[0].entry.wall if first and first[0].seq > 1 and first[0].entry.wall > since else None

    async def last_look(self, uid: int, now: float) -> float:
        """When this operator last looked, before the present sitting; about a day ago for who never did."""
        base, latest = await self._look(uid)
        if latest == 0.0:
            return _a_day_before(now)
        return base if now - latest < SITTING else latest

    async def look(self, uid: int, now: float) -> None:
        """Note that this operator looks now."""
        base, latest = await self._look(uid)
        base = base if latest and now - latest < SITTING else latest or _a_day_before(now)
        self._looks[uid] = (base, now)
        if now - self._written.get(uid, 0.0) >= WRITE_EVERY:
            self._written[uid] = now
            # A journal that fails or hangs must not keep from its operator that it does.
            with suppress(JournalFailed, TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self._journal.remember(f"looked:{uid}", f"{base} {now}")

    async def saw(self, uid: int, wall: float) -> None:
        """Note that this operator has seen all up to a wall time, where that is later than the last look."""
        _, latest = await self._look(uid)
        if wall > latest:
            self._looks[uid] = (wall, wall)
            self._seen[uid] = wall
            await self._journal.remember(f"looked:{uid}", f"{wall!r} {wall!r}")

    def seen(self, uid: int) -> float | None:
        """Up to when this operator has said to have seen all, since this daemon began; None where they did not."""
        return self._seen.get(uid)

    async def _look(self, uid: int) -> tuple[float, float]:
        if uid not in self._looks:
            base, _, latest = (await self._journal.recall(f"looked:{uid}") or "0 0").partition(" ")
            self._looks[uid] = (float(base), float(latest))
        return self._looks[uid]


def _a_day_before(now: float) -> float:
    """On the hour, so that one digest serves for all of it."""
    return (now - DAY) // HOUR * HOUR
