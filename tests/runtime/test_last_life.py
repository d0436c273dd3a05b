"""Since when nobody watched, as the daemon before left it in the journal."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.errors import JournalFailed
from phoenixd.ports.journal import Entry, StoredEntry
from phoenixd.runtime.last_life import LastLife, last_life, remember_end
from tests.runtime.test_boots import Kept


class Shelf(Kept):
    """A journal of rows and small facts, or one that fails."""

    def __init__(self, *walls: float) -> None:
        super().__init__()
        self.walls, self.is_broken = list(walls), False

    async def read(self, *, newest: bool, limit: int) -> list[StoredEntry]:
        assert newest
        if self.is_broken:
            raise JournalFailed("it cannot be read")
        rows = [StoredEntry(at + 1, Entry(0.0, wall, None, 0, "tick", {})) for at, wall in enumerate(self.walls)]
        return rows[-limit:]


@pytest.fixture
def journal() -> Any:
    return Shelf(100.0, 200.0)


async def test_the_first_daemon_has_none_before_it() -> None:
    first: Any = Shelf()
    await remember_end(first, 5.0, "SIGTERM")
    assert await last_life(first) is None


async def test_one_that_was_killed_was_heard_last_at_its_last_row(journal: Any) -> None:
    assert await last_life(journal) == LastLife(200.0)


async def test_one_that_was_told_to_end_says_when_and_by_what(journal: Any) -> None:
    await remember_end(journal, 250.0, "SIGTERM")
    assert await last_life(journal) == LastLife(250.0, "SIGTERM")


async def test_the_end_of_an_earlier_one_is_not_that_of_one_that_was_killed_since(journal: Any) -> None:
    await remember_end(journal, 250.0, "SIGTERM")
    journal.walls.append(300.0)
    assert await last_life(journal) == LastLife(300.0)


async def test_a_journal_that_fails_keeps_no_daemon_from_its_end_and_none_from_its_start(journal: Any) -> None:
    journal.is_broken = True
    await remember_end(journal, 250.0, "SIGTERM")
    assert await last_life(journal) is None
