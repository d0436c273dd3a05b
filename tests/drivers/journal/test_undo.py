"""What can be taken back stands in one row of the journal, which no version and no damage makes a stumbling block."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from phoenixd.core.agent.run import Session
from phoenixd.core.undo.state import MOST, Undoable
from phoenixd.documents.codec import encode
from phoenixd.drivers.journal.rows import sealed
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.drivers.journal.tables import INSERT_META, UNDO_KEY
from phoenixd.ports.journal import Batch

WALL = 1.7e9
SESSION = Session("99999999-2222-4333-8444-000000000001", WALL, WALL)
STOP = Undoable("1", "stop", "a", WALL, "ada", True, SESSION, at=3.0)
REMOVE = Undoable("2", "remove", "b", WALL, "ada", incarnation=4, at=4.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.sqlite3"


def written(path: Path, row: tuple[Any, ...]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(INSERT_META, row)


async def test_acts_are_there_after_a_restart_and_gone_once_they_were_taken_back(path: Path) -> None:
    with SqliteJournal(path) as journal:
        assert journal.load().undoable == ()
        await journal.commit(Batch(1.0, WALL, undoable=(STOP, REMOVE)))
    with SqliteJournal(path) as journal:
        assert journal.load().undoable == (STOP, REMOVE)
        await journal.commit(Batch(2.0, WALL, undoable=(REMOVE,)))
    with SqliteJournal(path) as journal:
        assert journal.load().undoable == (REMOVE,)


@pytest.mark.parametrize(
    "odd", [{"verb": "paint"}, {"at_wall": "noon"}, {"session": {"session_id": 5}}, {"act": None}, {"later": 1}]
)
async def test_an_act_of_another_version_is_left_out_and_the_others_stay(path: Path, odd: dict[str, Any]) -> None:
    with SqliteJournal(path) as journal:
        await journal.commit(Batch(1.0, WALL))
    known = [encode(STOP), {**encode(REMOVE), **odd}]
    written(path, sealed("meta", UNDO_KEY, json.dumps(known)))
    with SqliteJournal(path) as journal:
        assert journal.load().undoable == ((STOP, REMOVE) if "later" in odd else (STOP,))


async def test_a_row_that_is_damaged_means_that_nothing_can_be_taken_back(path: Path) -> None:
    with SqliteJournal(path) as journal:
        await journal.commit(Batch(1.0, WALL, undoable=(STOP,)))
    written(path, (UNDO_KEY, "[{", 0))
    with SqliteJournal(path) as journal:
        assert journal.load().undoable == ()
        await journal.commit(Batch(2.0, WALL, undoable=(REMOVE,)))
    with SqliteJournal(path) as journal:
        assert journal.load().undoable == (REMOVE,)


async def test_as_many_as_are_kept_at_most_take_less_than_a_mebibyte(path: Path) -> None:
    acts = tuple(
        Undoable(f"{number:012x}", "stop", "a" * 32, WALL, "uid 1000", True, SESSION) for number in range(MOST)
    )
    with SqliteJournal(path) as journal:
        await journal.commit(Batch(1.0, WALL, undoable=acts))
    with closing(sqlite3.connect(path)) as connection:
        ((size,),) = connection.execute("SELECT length(value) FROM meta WHERE key = ?", (UNDO_KEY,)).fetchall()
    assert size < 1 << 20
