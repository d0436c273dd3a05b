"""Samples of contexts stand in a table of their own, written with the decision, and kept for thirty days."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from phoenixd.core.meter.reading import UsageSample
from phoenixd.drivers.journal import retention
from phoenixd.drivers.journal.rows import sealed, unsealed
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.drivers.journal.tables import SCHEMA_KEY, SCHEMA_VERSION, SCHEMAS, SECOND, THIRD
from phoenixd.ports.journal import Batch
from tests.drivers.journal.journal_script import numbered_batch
from tests.drivers.journal.older import write_version_1
from tests.waiting import eventually

DAY = 24 * 3600.0
WALL = 1.7e9


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.sqlite3"


def sampled(at: float, tokens: int, agent: str = "a", limit: int | None = 200_000) -> Batch:
    source = "status line" if limit is not None else ""
    return Batch(at, WALL + at, usage=(UsageSample(agent, 1, "s-1", tokens, limit, source, WALL + at),))


def samples(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT * FROM usage ORDER BY at, agent").fetchall()
    assert all(unsealed("usage", row) is not None for row in rows)
    return [row[:-1] for row in rows]


async def test_a_sample_is_written_without_any_entry_and_is_there_after_a_restart(path: Path) -> None:
    with SqliteJournal(path) as journal:
        assert await journal.commit(sampled(5.0, 100_000)) == ()
        await journal.commit(sampled(6.0, 102_000, limit=None))
    with SqliteJournal(path) as journal:
        assert journal.damage is None

    assert samples(path) == [
        ("a", 1, "s-1", 5.0, WALL + 5.0, 100_000, 200_000, "status line"),
        ("a", 1, "s-1", 6.0, WALL + 6.0, 102_000, None, ""),
    ]


async def test_samples_past_thirty_days_are_removed(path: Path) -> None:
    with SqliteJournal(path) as journal:
        for day in (0, 1, 20):
            await journal.commit(sampled(day * DAY, 1_000 * (day + 1)))
        await journal.commit(sampled(31.5 * DAY, 99_000))
        await eventually(lambda: len(samples(path)) == 2, 60)

    assert [row[5] for row in samples(path)] == [21_000, 99_000]


async def test_an_agent_that_is_sampled_without_end_costs_its_own_past(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "USAGE_PER_AGENT", 3)
    with SqliteJournal(path) as journal:
        await journal.commit(sampled(1.0, 1, "quiet"))
        for at in range(2, 12):
            await journal.commit(sampled(float(at), at))
        await journal.commit(sampled(3_700.0, 1, "later"))
        await eventually(lambda: len(samples(path)) == 5, 60)

    assert [row[5] for row in samples(path) if row[0] == "a"] == [9, 10, 11]


async def test_a_journal_without_the_table_gets_it_and_keeps_what_it_held(path: Path) -> None:
    """A journal of the version before, as a daemon of that version left it."""
    with SqliteJournal(path) as journal:
        await journal.commit(numbered_batch(1))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for name in SCHEMAS[SCHEMA_VERSION].tables:
            if SECOND.tables.get(name) != SCHEMAS[SCHEMA_VERSION].tables[name]:
                connection.execute(f"DROP TABLE {name}")
        for name, statement in SECOND.shape.items():
            if name in ("incidents", "incidents_by_agent"):
                connection.execute(statement)
        connection.execute("REPLACE INTO meta VALUES (?, ?, ?)", sealed("meta", SCHEMA_KEY, "2"))
        connection.execute("PRAGMA user_version = 2")
    with SqliteJournal(path) as journal:
        assert journal.migrated is not None
        assert (journal.migrated.before, journal.damage) == (2, None)
        assert len(await journal.read()) == 2
        await journal.commit(sampled(5.0, 7))
    assert len(samples(path)) == 1


def test_the_oldest_journal_gets_the_table_too(path: Path) -> None:
    write_version_1(path)
    SqliteJournal(path).close()

    assert samples(path) == []
    assert set(THIRD.tables) - set(SECOND.tables) == {"usage"}
