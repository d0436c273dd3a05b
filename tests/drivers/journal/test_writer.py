"""The journal's writer after an error: what it believes of its file, and when it looks after it between commits."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phoenixd.drivers.journal.reserve import Reserve
from phoenixd.drivers.journal.writer import CHECKPOINT_COMMITS, CHECKPOINT_COMMITS_BUSY, Touch, Writer
from phoenixd.errors import ConfigurationError, JournalFailed


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    made = Writer(tmp_path / "journal.db", Reserve(tmp_path / "reserve", 4096))
    yield made
    made.close()


def failed(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("it failed")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("code", "is_kept", "is_suspect"),
    [
        (sqlite3.SQLITE_FULL, True, False), (sqlite3.SQLITE_BUSY, True, False),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, True, False), (sqlite3.SQLITE_IOERR, False, False),
        (sqlite3.SQLITE_IOERR_FSYNC, False, False), (sqlite3.SQLITE_CORRUPT, False, True),
        (sqlite3.SQLITE_CORRUPT_INDEX, False, True), (sqlite3.SQLITE_NOTADB, False, True),
        (sqlite3.SQLITE_ERROR, False, True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_begun", [True, False])
def test_promise_1_after_an_error_a_full_disk_leaves_the_connection_and_nothing_else_does(
    writer: Writer, code: int, is_kept: bool, is_suspect: bool, is_begun: bool
) -> None:
    """What a failed sync has left in the kernel is not to be trusted; content is checked where it may be damaged."""
    connection = writer._connection
    assert connection is not None
    if is_begun:
        connection.execute("BEGIN IMMEDIATE")
    writer._abandon(failed(code))

    assert (writer._connection is connection) is is_kept
    assert writer._content_suspect is is_suspect
    if is_kept:
        assert not connection.in_transaction
    else:
        with pytest.raises(sqlite3.ProgrammingError):
            connection.execute("SELECT 1")
    assert writer.write([Touch()]) == [()]
    assert writer.damage is None
    assert not writer._content_suspect


def test_an_error_without_a_connection_and_one_without_a_code(writer: Writer) -> None:
    writer._abandon(sqlite3.OperationalError("of no kind that is known"))
    assert (writer._connection, writer._content_suspect) == (None, True)
    writer._abandon(failed(sqlite3.SQLITE_IOERR))
    assert (writer._connection, writer._content_suspect) == (None, True), "nothing was learnt of the file"


def test_what_a_writer_cannot_do_is_told_as_a_failure_of_the_journal(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(error: Exception) -> Any:
        def raises(*_: Any) -> Any:
            raise error

        return raises

    with monkeypatch.context() as patch:
        patch.setattr(writer, "_sound", fails(OSError(13, "Permission denied")))
        with pytest.raises(JournalFailed, match="the journal's file cannot be put back"):
            writer.write([Touch()])
    with monkeypatch.context() as patch:
        patch.setattr(writer, "_sound", lambda: None)
        patch.setattr(writer, "_connect", fails(ConfigurationError("its version is newer", "upgrade phoenixd")))
        with pytest.raises(JournalFailed, match="cannot be opened again: its version is newer"):
            writer.write([Touch()])
    with monkeypatch.context() as patch:
        patch.setattr(writer, "_write_one", fails(failed(sqlite3.SQLITE_FULL)))
        with pytest.raises(JournalFailed, match="did not take a batch"):
            writer.write([Touch()])


def test_rows_that_the_disk_lost_after_it_had_confirmed_them_are_damage(writer: Writer) -> None:
    writer._acknowledged = 7
    writer._abandon(failed(sqlite3.SQLITE_IOERR))
    writer.write([Touch()])
    assert writer.damage is not None
    assert writer.damage.why == "the disk lost entries 0 to 7 after it had confirmed them"


@pytest.mark.parametrize(
    ("commits", "is_idle", "left"),
    [
        (CHECKPOINT_COMMITS - 1, True, CHECKPOINT_COMMITS - 1), (CHECKPOINT_COMMITS, True, 0),
        (CHECKPOINT_COMMITS, False, CHECKPOINT_COMMITS), (CHECKPOINT_COMMITS_BUSY - 1, False, 1023),
        (CHECKPOINT_COMMITS_BUSY, False, 0),
    ],
)  # fmt: skip
def test_the_log_is_moved_into_the_file_after_128_commits_and_after_1024_where_more_waits(
    writer: Writer, commits: int, is_idle: bool, left: int
) -> None:
    assert (CHECKPOINT_COMMITS, CHECKPOINT_COMMITS_BUSY) == (128, 1024)
    writer._unmoved_commits = commits
    writer.rest(lambda: is_idle)
    assert writer._unmoved_commits == left
    assert writer.write([Touch()]) == [()]
    assert writer._unmoved_commits == left + 1


def test_what_housekeeping_fails_at_is_told_and_over_with_the_next(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise failed(sqlite3.SQLITE_IOERR)

    with monkeypatch.context() as patch:
        patch.setattr(writer._retention, "rest", fails)
        writer.rest(lambda: True)
    assert (writer.trouble, writer._connection) == ("it failed", None)
    writer.rest(lambda: True)
    assert writer.trouble == "it failed", "without a connection nothing was done"
    writer.write([Touch()])
    writer.rest(lambda: True)
    assert writer.trouble is None
