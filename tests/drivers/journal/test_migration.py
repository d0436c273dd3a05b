"""A journal of an older version is brought to this one, whole or not at all; a newer one is refused in a sentence."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.core.agent.state import Quarantined, Running
from phoenixd.drivers.journal import migration
from phoenixd.drivers.journal.migration import MIGRATIONS
from phoenixd.drivers.journal.rows import sealed
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.drivers.journal.tables import SCHEMA_VERSION, SCHEMAS
from phoenixd.errors import ConfigurationError, JournalFailed
from phoenixd.ports.journal import Batch, Saved
from tests.drivers.journal.journal_script import numbered_batch
from tests.drivers.journal.older import content, take_back_to_version_1, write_version_1

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal of version 1, which no newer version has seen."""
    path = tmp_path / "state" / "journal.sqlite3"
    write_version_1(path)
    return path


def rows(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def assert_nothing_is_forgotten(saved: Saved) -> None:
    """What stands in version_1.sql."""
    a, b = saved.agents
    assert (a.name, a.incarnation, a.spec.argv, a.restarts) == ("a", 2, ("sleep", "60"), 1)
    assert isinstance(a.state, Running)
    assert (a.state.run.pid, a.state.run.run_id) == (4002, "run-2")
    assert a.incident is not None
    assert (b.name, b.state, b.spec.prompt) == (
        "b",
        Quarantined("5 crashes in 30 min", True),
        "Work through docs/plan.md.",
    )
    assert (saved.at, saved.next_item, saved.boot_id, saved.epoch, saved.retired) == (62.0, 4, "b-1", 4, {"c": 3})


def test_a_version_is_a_row_in_one_list_and_its_tables_are_those_of_a_new_journal(tmp_path: Path) -> None:
    assert [version for version, _ in MIGRATIONS] == list(range(2, SCHEMA_VERSION + 1))
    assert set(SCHEMAS) == {1, *(version for version, _ in MIGRATIONS)}


async def test_an_older_journal_is_migrated_and_nothing_of_it_is_forgotten(path: Path) -> None:
    before = content(path)
    with SqliteJournal(path) as journal:
        assert journal.damage is None
        assert journal.migrated is not None
        assert (journal.migrated.before, journal.migrated.now) == (1, SCHEMA_VERSION)
        assert_nothing_is_forgotten(journal.load())
        assert await journal.recall("looked:0") == "1.0 2.0"
        assert [stored.seq for stored in await journal.read()] == list(range(1, 8))
        assert await journal.commit(numbered_batch(1)) == (8, 9)
        kept = Path(journal.migrated.kept_as)
    assert content(kept) == before
    assert kept.stat().st_mode & 0o777 == 0o600
    assert sorted(found.name for found in path.parent.iterdir()) == [
        "journal.sqlite3", "journal.sqlite3.reserve", "journal.sqlite3.version-1",
    ]  # fmt: skip
    with SqliteJournal(path) as journal:
        assert (journal.migrated, journal.damage) == (None, None)


def test_what_the_old_journal_knew_of_runs_and_incidents_is_told_by_the_new_tables(path: Path) -> None:
    SqliteJournal(path).close()
    columns = (
        "agent, incarnation, mode, reason, started, first_evidence, productive, ended, signal, code, how, end_reason"
    )

    assert rows(path, f"SELECT {columns} FROM lives ORDER BY agent, incarnation") == [
        ("a", 1, "fresh", "an operator asked for it", 1.7e9 + 2, None, 1.7e9 + 40, 1.7e9 + 50, 9, None, "death",
         "killed by signal 9; resumed"),
        ("a", 2, "resume", "killed by signal 9; resumed", 1.7e9 + 50, None, None, None, None, None, None, None),
        ("b", 5, None, None, None, None, None, 1.7e9 + 60, None, 1, "death", "5 crashes in 30 min"),
    ]  # fmt: skip
    ((number, opened, closed, body),) = rows(path, "SELECT id, opened, closed, body FROM incidents")
    assert (number, opened, closed) == ("a-1-hung", 1.7e9 + 61, None)
    assert json.loads(str(body))["file"] == "incidents/1-hung.json"


def test_of_the_old_journals_only_the_newest_is_kept(path: Path) -> None:
    stale = path.with_name("journal.sqlite3.version-0")
    stale.write_bytes(b"older still")
    SqliteJournal(path).close()

    assert not stale.exists()
    assert path.with_name("journal.sqlite3.version-1").exists()


def test_a_kill_at_any_statement_of_a_migration_leaves_the_old_journal_or_the_new_one(path: Path) -> None:
    command = [sys.executable, "-m", "tests.drivers.journal.killed_migrations", str(path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)

    assert ended.returncode == 0, ended.stderr
    (found,) = re.findall(r"old (\d+) new (\d+)", ended.stdout)
    # The last one lived, and so the migration was killed at each of its statements.
    assert int(found[0]) > 20
    assert int(found[1]) >= 1
    with SqliteJournal(path) as journal:
        assert_nothing_is_forgotten(journal.load())


def test_without_room_the_old_journal_stands_nothing_is_taken_and_the_next_commit_tries_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agents are watched over meanwhile: the state is loaded, and every commit fails by name."""
    before = content(path)
    real = os.statvfs
    with monkeypatch.context() as patch:
        patch.setattr(
            "phoenixd.drivers.journal.migration.os.statvfs",
            lambda where: os.statvfs_result((*real(where)[:4], 1, *real(where)[5:])),
        )
        journal = SqliteJournal(path)
        assert_nothing_is_forgotten(journal.load())
        with pytest.raises(JournalFailed, match="KiB are needed") as failed:
            asyncio.run(journal.commit(numbered_batch(1)))
        assert str(path) in failed.value.message
        assert failed.value.remedy.startswith("free space")
        assert journal.trouble is not None
        assert "it is as it was" in journal.trouble
        assert [stored.seq for stored in asyncio.run(journal.read())] == list(range(1, 8))
        assert content(path) == before
        assert not list(path.parent.glob("*version*"))
    with journal:
        assert asyncio.run(journal.commit(numbered_batch(1))) == (8, 9)
        assert journal.migrated is not None


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mount = tmp_path / "disk"
    mount.mkdir()
    if os.geteuid() != 0:
        pytest.skip("not run: a full disk needs root to mount a tmpfs")
    options = "size=2M,nr_inodes=64,mode=0700"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "phoenixd-test", mount], check=False).returncode != 0:
        pytest.skip("not run: this host does not mount a tmpfs")
    yield mount
    subprocess.run(["umount", "--lazy", mount], check=True)


@pytest.mark.faults
def test_a_disk_that_fills_up_at_any_point_of_a_migration_leaves_the_old_journal_and_stops_are_saved_later(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "_require_room", lambda path: None)
    path, filler = small_disk / "journal.sqlite3", small_disk / "filler"
    write_version_1(path)
    before = content(path)
    disk = os.statvfs(small_disk)
    met = set()
    for spare in range(0, 60):
        free = os.statvfs(small_disk)
        filler.write_bytes(b"x" * max(0, free.f_bavail * disk.f_frsize - spare * 4096))
        try:
            journal = SqliteJournal(path, reserve_bytes=4096)
        except JournalFailed:
            # Not even the index of the log has room: as with any journal, there is no start.
            filler.unlink()
            assert content(path) == before
            continue
        assert journal.damage is None
        assert_nothing_is_forgotten(journal.load())
        was_full = journal.migrated is None
        met.add(was_full)
        if was_full:
            assert content(path) == before
            with pytest.raises(JournalFailed):
                asyncio.run(journal.commit(Batch(63.0, 1e9)))
            filler.unlink()
            asyncio.run(journal.commit(Batch(63.0, 1e9)))
            assert journal.migrated is not None
        journal.close()
        for left in small_disk.iterdir():
            left.unlink()
        write_version_1(path)
    assert met == {True, False}


@pytest.mark.faults
def test_a_disk_that_can_only_be_read_leaves_the_old_journal(small_disk: Path) -> None:
    path = small_disk / "journal.sqlite3"
    write_version_1(path)
    before = path.read_bytes()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(JournalFailed, match="cannot be opened"):
        SqliteJournal(path)
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    assert path.read_bytes() == before
    with SqliteJournal(path) as journal:
        assert_nothing_is_forgotten(journal.load())


def test_an_older_journal_that_is_damaged_is_salvaged_and_then_migrated(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE agents SET snapshot = replace(snapshot, 'sleep', 'sweep') WHERE name = 'a'")
    with SqliteJournal(path) as journal:
        assert journal.damage is not None
        assert (journal.damage.lost, journal.damage.agents) == (("a",), ("b",))
        assert journal.migrated is not None
        saved = journal.load()
        assert [agent.name for agent in saved.agents] == ["b"]
        assert (saved.at, saved.epoch) == (62.0, 4)
        assert asyncio.run(journal.commit(numbered_batch(1)))[0] > 7


def test_an_older_journal_that_is_taken_away_while_it_waits_for_room_is_no_crash(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("phoenixd.drivers.journal.migration._require_room", _no_room)
        journal = SqliteJournal(path)
    path.unlink()
    with journal:
        assert asyncio.run(journal.commit(replace(numbered_batch(1), epoch=5)))
        assert [agent.name for agent in journal.load().agents] == ["a", "b"]


def _no_room(path: Path) -> None:
    raise OSError(f"no room for {path}")


def test_an_agent_in_an_unknown_form_refuses_the_migration_and_nothing_is_changed(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "REPLACE INTO agents VALUES (?, ?, ?)", sealed("agents", "a", '{"spec":{},"state":{"name":"flying"}}')
        )
    before = content(path)
    with pytest.raises(ConfigurationError, match="agent a"):
        SqliteJournal(path)
    assert content(path) == before
    assert not list(path.parent.glob("*version*"))


def test_a_newer_journal_is_refused_with_its_file_both_versions_and_a_way_back_that_can_be_typed(path: Path) -> None:
    """Also by who goes back and forth more than once: nothing that was put aside is in the way, or lost."""
    newer, older = SCHEMA_VERSION + 1, SCHEMA_VERSION
    SqliteJournal(path).close()
    for times in (1, 2, 3):
        shutil.copy2(path, path.with_name(f"journal.sqlite3.version-{older}"))
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"PRAGMA user_version = {newer}")
            connection.execute("REPLACE INTO meta VALUES (?, ?, ?)", sealed("meta", "#schema", str(newer)))

        with pytest.raises(ConfigurationError) as refusal:
            SqliteJournal(path)

        told = f"the journal {path} has schema {newer}, and this version of phoenixd knows {older}"
        assert told == refusal.value.message
        (way_back,) = re.findall(r": (cd .+)$", refusal.value.remedy)
        subprocess.run(["sh", "-c", way_back], check=True)
        with SqliteJournal(path) as journal:
            assert_nothing_is_forgotten(journal.load())
            assert journal.migrated is None
        assert len(list(path.parent.glob("newer-journal*/journal.sqlite3"))) == times


def test_a_journal_of_today_taken_back_to_version_1_is_migrated_to_the_same(tmp_path: Path) -> None:
    path = tmp_path / "state" / "journal.sqlite3"
    with SqliteJournal(path) as journal:
        for number in range(1, 30):
            asyncio.run(journal.commit(numbered_batch(number)))
        saved = journal.load()
    before = content(path)
    take_back_to_version_1(path)
    with SqliteJournal(path) as journal:
        assert journal.migrated is not None
        assert journal.load() == saved
    after = content(path)
    assert {name: after[name] for name in ("agents", "specs", "entries", "meta")} == {
        name: before[name] for name in ("agents", "specs", "entries", "meta")
    }
