"""What became of agents' markers stands in a table of its own, and no code does."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from phoenixd.core.facts import MarkerNoted
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.ports.journal import Batch, Entry, KeptMark

WALL = 1.7e9


def told(agent: str, at: float, *facts: MarkerNoted) -> Batch:
    return Batch(at, WALL + at, entries=(Entry(at, WALL + at, agent, 1, "tick", {}, reason="noted", facts=facts),))


async def test_checks_and_steps_are_kept_and_read_newest_first(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite3"
    with SqliteJournal(path) as journal:
        await journal.commit(told("a", 1.0, MarkerNoted(1, "planted", why="start")))
        await journal.commit(told("b", 2.0, MarkerNoted(1, "checked", "intact", 3)))
        await journal.commit(told("a-g2", 3.0, MarkerNoted(2, "restoration", step=1, why="two misses", tokens=40)))
    with SqliteJournal(path) as journal:
        found = await journal.marks(("a", "a-g2"), 10)
        assert found == [
            KeptMark("a-g2", 2, WALL + 3, "restoration", "", 0, 1, "two misses", 40),
            KeptMark("a", 1, WALL + 1, "planted", "", 0, 0, "start", 0),
        ]
        assert await journal.marks(("a", "a-g2"), 1) == found[:1]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE markers SET why = 'clear' WHERE why = 'start'")
    with SqliteJournal(path) as journal:
        assert await journal.marks(("a",), 10) == [], "a row that is not what was written is left out"
