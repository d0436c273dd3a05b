"""Handoffs that are over stand in a table of their own, with the time of each step, and are kept for thirty days."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.core.facts import HandoffEnded
from phoenixd.core.handoff.state import Handoff, Step, StepTime
from phoenixd.drivers.journal import retention
from phoenixd.drivers.journal.rows import sealed
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.drivers.journal.tables import SCHEMA_KEY, SCHEMA_VERSION, SCHEMAS
from phoenixd.ports.journal import Batch, Entry
from tests.drivers.journal.journal_script import numbered_batch
from tests.waiting import eventually

DAY = 24 * 3600.0
WALL = 1.7e9


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.sqlite3"


def ended(number: int, seat: str = "boss", step: Step = Step.DONE, share: float | None = None) -> Handoff:
    times = (StepTime(Step.FREEZE, WALL + number, 0.5), StepTime(Step.DRAIN, WALL + number, 7.25))
    return Handoff(
        f"h{number}", seat, "shop", number, "meter", "full", WALL + number, step, 1.0, WALL + number + 9, times=times,
        share=share,
    )  # fmt: skip


def told(handoff: Handoff, at: float = 1.0) -> Batch:
    entry = Entry(at, WALL, handoff.seat, 1, "tick", {}, reason="over", facts=(HandoffEnded(handoff),))
    return Batch(at, WALL, entries=(entry,))


async def test_e89_a_handoff_that_is_over_is_kept_with_each_steps_time_and_once(path: Path) -> None:
    with SqliteJournal(path) as journal:
        for one in (ended(1), ended(2, step=Step.ROLLED_BACK), ended(3, "chief"), ended(2, step=Step.ROLLED_BACK)):
            await journal.commit(told(one))
        await journal.commit(told(ended(1, share=0.25)))
    with SqliteJournal(path) as journal:
        assert journal.damage is None
        assert await journal.handoffs("boss", 5) == [ended(2, step=Step.ROLLED_BACK), ended(1, share=0.25)]
        assert await journal.handoffs("boss", 1) == [ended(2, step=Step.ROLLED_BACK)]
        assert await journal.handoffs("nobody", 5) == []


async def test_a_row_that_is_not_what_was_written_is_left_out(path: Path) -> None:
    with SqliteJournal(path) as journal:
        await journal.commit(told(ended(1)))
        await journal.commit(told(ended(2)))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE handoffs SET body = replace(body, 'meter', 'motor') WHERE id = 'h1'")
    with SqliteJournal(path) as journal:
        assert await journal.handoffs("boss", 5) == [ended(2)]


async def test_handoffs_past_thirty_days_and_beyond_the_bound_are_removed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "HANDOFFS_PER_AGENT", 3)
    with SqliteJournal(path) as journal:
        await journal.commit(told(ended(1, "old"), 0.0))
        for number in range(1, 6):
            await journal.commit(told(ended(number), 20 * DAY))
        await journal.commit(replace(numbered_batch(1), at=31.5 * DAY))
        await eventually(lambda: count(path) == 3, 60)
        assert [one.id for one in await journal.handoffs("boss", 9)] == ["h5", "h4", "h3"]


async def test_a_journal_of_the_version_before_gets_the_table_and_keeps_what_it_held(path: Path) -> None:
    with SqliteJournal(path) as journal:
        await journal.commit(numbered_batch(1))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        now, before = SCHEMAS[SCHEMA_VERSION], SCHEMAS[3]
        for table in now.tables:
            if before.tables.get(table) != now.tables[table]:
                connection.execute(f"DROP TABLE {table}")
        there = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
        for name, statement in before.shape.items():
            if name not in there:
                connection.execute(statement)
        connection.execute("REPLACE INTO meta VALUES (?, ?, ?)", sealed("meta", SCHEMA_KEY, "3"))
        connection.execute("PRAGMA user_version = 3")
    with SqliteJournal(path) as journal:
        assert journal.migrated is not None
        assert (journal.migrated.before, journal.damage) == (3, None)
        assert len(await journal.read()) == 2
        await journal.commit(told(ended(1)))
        assert await journal.handoffs("boss", 5) == [ended(1)]


def count(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (found,) = connection.execute("SELECT count(*) FROM handoffs").fetchone()
    return int(found)
