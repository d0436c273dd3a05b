"""The newest rows of the story as frames: read once and written down once, however many follow."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from phoenixd.api import representation
from phoenixd.ports.journal import Journal, StoredEntry

ROWS = 500
"""Rows that are read at once."""
FAR = 4 * ROWS
"""Rows between what is kept and who asks, beyond which nobody followed meanwhile, and what is kept begins anew."""
MOST_CHARACTERS = 4 << 20
"""Of frames that are kept; who is that far behind has the journal read for him."""


@dataclass(frozen=True, slots=True)
class Note:
    """A row of the story. agent: in whose row of status it belongs. data: JSON."""

    row: int
    agent: str | None
    data: str


class Notes:
    """What a journal has of them. row_of: in whose row of status an agent stands."""

    def __init__(self, journal: Journal, row_of: Callable[[str], str]) -> None:
        self._journal = journal
        self._row_of = row_of
        self._kept: deque[Note] = deque()
        self._after = 0
        self._until = -1
        """All rows of the story between these two, the later one included, are kept; nothing is, where it is -1."""
        self._characters = 0
        self._reading = asyncio.Lock()

    async def between(self, after: int, until: int) -> list[Note]:
        """Those with higher numbers than `after` and none higher than `until`."""
        async with self._reading:
            if self._until < 0 or after - self._until > FAR:
                self._kept.clear()
                self._characters = 0
                self._after = self._until = after
            if after < self._after:
                return await self._read(after, until)
            if until > self._until:
                self._keep(await self._read(self._until, until))
                self._until = until
        found: list[Note] = []
        for note in reversed(self._kept):
            if note.row <= after:
                break
            found.append(note)
        return [note for note in reversed(found) if note.row <= until]

    async def _read(self, after: int, until: int) -> list[Note]:
        found: list[Note] = []
        while True:
            rows = await self._journal.read(after=after, limit=ROWS, story=True)
            found += [self._note(row) for row in rows if row.seq <= until]
            if len(rows) < ROWS or rows[-1].seq >= until:
                return found
            after = rows[-1].seq

    def _keep(self, notes: list[Note]) -> None:
        self._kept += notes
        self._characters += sum(len(note.data) for note in notes)
        while self._characters > MOST_CHARACTERS:
            oldest = self._kept.popleft()
            self._characters -= len(oldest.data)
            self._after = oldest.row

    def _note(self, stored: StoredEntry) -> Note:
        agent, data = stored.entry.agent, json.dumps(representation.event(stored), separators=(",", ":"))
        return Note(stored.seq, self._row_of(agent) if agent is not None else None, data)
