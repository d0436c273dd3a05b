"""The newest rows of a journal, for the documents of agents."""

from __future__ import annotations

from phoenixd.errors import JournalFailed
from phoenixd.ports.journal import Entry, StoredEntry
from phoenixd.runtime.last_life import LAST_ROWS, newest_rows


class Shelf:
    """A journal of some rows, or one that cannot be read."""

    def __init__(self, rows: list[StoredEntry] | None) -> None:
        self.rows = rows

    async def read(self, *, newest: bool, limit: int) -> list[StoredEntry]:
        if self.rows is None:
            raise JournalFailed("it cannot be read")
        assert newest
        return self.rows[-limit:]


async def test_a_journal_that_cannot_be_read_keeps_no_daemon_from_its_start() -> None:
    """What it decided last is a line less in a log; agents that nobody watches are more."""
    assert await newest_rows(Shelf(None)) == []  # type: ignore[arg-type]


async def test_p72_the_newest_rows_are_taken_in_their_order() -> None:
    rows = [StoredEntry(number, Entry(0.0, 0.0, "a", 1, "hook_seen", {})) for number in range(LAST_ROWS + 5)]
    assert await newest_rows(Shelf(rows)) == [row.entry for row in rows[5:]]  # type: ignore[arg-type]
