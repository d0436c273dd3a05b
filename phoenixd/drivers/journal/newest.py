"""The rows of the newest commits, in memory: who follows the journal asks for these, and need not wait for a thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from phoenixd.drivers.journal.rows import Row, read_entry
from phoenixd.ports.journal import StoredEntry

MOST_ROWS = 512


@dataclass(slots=True)
class _Kept:
    row: Row
    """As it was written, without its checksum."""
    read: StoredEntry | None = None
    """As a reader gets it, made when the first one asks."""


@dataclass(slots=True)
class Newest:
    """All rows of this journal above some number, and nothing where a commit is missing among those it was told."""

    most: int = MOST_ROWS
    _rows: deque[_Kept] = field(default_factory=deque)
    _after: int = 0
    _until: int = 0

    def wrote(self, numbers: Sequence[int], rows: Sequence[Row]) -> None:
        """A commit has landed: its rows under their numbers."""
        if not numbers:
            return
        if numbers[0] != self._until + 1:
            # What stands between is not known here: a commit whose waiter went away, or one before this process.
            self._rows.clear()
            self._after = max(self._until, numbers[0] - 1)
        if numbers[0] <= self._until:
            return  # Told of late, and behind one that follows it: the file knows both.
        self._rows += (_Kept((number, *row)) for number, row in zip(numbers, rows, strict=True))
        self._until = numbers[-1]
        while len(self._rows) > self.most:
            self._after = self._rows.popleft().row[0]

    def read(self, after: int, since_wall: float | None, limit: int, *, story: bool) -> list[StoredEntry] | None:
        """The rows above `after`, as the file would give them; None where only the file knows.

        Who reads from the beginning is always sent to the file.
        """
        if after <= 0 or not self._after <= after <= self._until:
            return None
        found: list[StoredEntry] = []
        for kept in reversed(self._rows):
            if kept.row[0] <= after:
                break
            one = kept.read = kept.read or read_entry(kept.row)
            if (since_wall is None or one.entry.wall >= since_wall) and (not story or one.entry.weight != "detail"):
                found.append(one)
        return found[::-1][:limit]
