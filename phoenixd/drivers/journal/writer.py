"""The one connection that writes: whole batches in one transaction, and housekeeping in between."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from phoenixd.drivers.journal.moved import identity, put_back
from phoenixd.drivers.journal.reserve import Reserve
from phoenixd.drivers.journal.rows import BatchRows, Incarnation, sealed, sealed_entry, unsealed
from phoenixd.drivers.journal.salvage import Damage, open_sound
from phoenixd.drivers.journal.schema import (
    EPOCH_KEY,
    INSERT_AGENT,
    INSERT_ENTRY,
    INSERT_INCARNATION,
    INSERT_META,
    SAVED_KEY,
    retired_row,
)
from phoenixd.errors import ConfigurationError, JournalFailed, UnsafeFile

KEEP_SECONDS = 30 * 24 * 3600.0
RETENTION_INTERVAL = 3600.0
RETENTION_STEP = 500
ENTRIES_PER_AGENT = 100_000
"""Entries of one agent that are kept at most: one that talks without end costs its own past, not the disk."""
OLDEST_STEP = "SELECT max(seq), min(wall) FROM (SELECT seq, at, wall FROM entries ORDER BY seq LIMIT ?) WHERE at < ?"
TOO_MANY = "SELECT agent FROM entries WHERE agent IS NOT NULL GROUP BY agent HAVING count(*) > ?"
NEWEST_SURPLUS = "SELECT seq FROM entries WHERE agent = ? ORDER BY seq DESC LIMIT 1 OFFSET ?"
FORGET_SURPLUS = (
    "DELETE FROM entries WHERE seq IN (SELECT seq FROM entries WHERE agent = ? AND seq <= ? ORDER BY seq LIMIT ?)"
)
CHECKPOINT_COMMITS, CHECKPOINT_COMMITS_BUSY = 128, 1024
"""Commits after which the log is copied into the file: when nobody waits, and at the latest."""


@dataclass(frozen=True, slots=True)
class Touch:
    """Nothing to write: the file is looked at, and put back where somebody took it away."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A small fact to keep, as a sealed row of meta."""

    row: tuple[str, str, int]


class Writer:
    """Lives on one thread. After an error it has no connection until the next write has checked and reopened one."""

    def __init__(
        self,
        path: Path,
        reserve: Reserve,
        entries_per_agent: int = ENTRIES_PER_AGENT,
        keep_seconds: float = KEEP_SECONDS,
    ) -> None:
        """keep_seconds: of supervised time, for which entries are kept."""
        connection, damage = open_sound(path)
        self.damage: Damage | None = damage
        self._connection: sqlite3.Connection | None = connection
        self._identity = identity(path)
        self.trouble: str | None = None
        """What housekeeping last failed at; commits go on."""
        self._path = path
        self._reserve = reserve
        self._entries_per_agent = entries_per_agent
        self._keep_seconds = keep_seconds
        self._content_suspect = False
        self._acknowledged = 0
        self._unmoved_commits = 0
        self._at = 0.0
        self._retained_at = -RETENTION_INTERVAL
        reserve.ensure()

    def write(self, requests: Sequence[BatchRows | Fact | Touch]) -> list[tuple[int, ...]]:
        """Make all requests durable together; the row numbers of each one's entries. Raises JournalFailed.

        A failed write may still come to light after a crash, whole: its frames can have reached the disk.
        """
        try:
            connection = self._sound() or self._reopen()
            connection.execute("BEGIN IMMEDIATE")
            numbers = [self._write_one(connection, request) for request in requests]
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._abandon(error)
            raise JournalFailed(f"the journal did not take a batch: {error}") from error
        except OSError as error:
            raise JournalFailed(f"the journal's file cannot be put back: {error}") from error
        self._acknowledged = max([self._acknowledged, *(seq for group in numbers for seq in group)])
        self._unmoved_commits += 1
        return numbers

    def rest(self, is_idle: Callable[[], bool]) -> None:
        """Housekeeping that no commit waits for: the reserve, the log, the entries past their time."""
        self._reserve.ensure()
        try:
            if self._connection is None:
                return
            if self._unmoved_commits >= (CHECKPOINT_COMMITS if is_idle() else CHECKPOINT_COMMITS_BUSY):
                self._unmoved_commits = 0
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            if self._at >= self._retained_at + RETENTION_INTERVAL:
                self._retain(self._connection, is_idle)
            self.trouble = None
        except sqlite3.Error as error:
            self.trouble = str(error)
            self._abandon(error)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _sound(self) -> sqlite3.Connection | None:
        """The connection, as long as it is one to the file that bears the journal's name."""
        if self._connection is not None and identity(self._path) != self._identity:
            self.damage = put_back(self._connection, self._path)
            self._connection = None
        return self._connection

    def _write_one(self, connection: sqlite3.Connection, request: BatchRows | Fact | Touch) -> tuple[int, ...]:
        if isinstance(request, Touch):
            return ()
        if isinstance(request, Fact):
            connection.execute(INSERT_META, request.row)
            return ()
        last = (connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entries'").fetchone() or (0,))[0]
        first = 1 + max(last, request.after_row)
        numbers = tuple(range(first, first + len(request.entries)))
        connection.executemany(INSERT_ENTRY, map(sealed_entry, numbers, request.entries))
        connection.executemany(INSERT_AGENT, request.agents)
        connection.executemany("DELETE FROM agents WHERE name = ?", [(name,) for name, _ in request.removed])
        connection.executemany(INSERT_META, [retired_row(name, last) for name, last in request.removed])
        for row in request.incarnations:
            _write_incarnation(connection, row)
        connection.execute(INSERT_META, sealed("meta", SAVED_KEY, request.saved))
        if request.epoch:
            connection.execute(INSERT_META, sealed("meta", EPOCH_KEY, str(request.epoch)))
        self._at = request.at
        return numbers

    def _retain(self, connection: sqlite3.Connection, is_idle: Callable[[], bool]) -> None:
        """Remove what is too old or too much, as long as nobody waits."""
        done = False
        while not done:
            if not is_idle():
                return
            done = self._forget_some(connection)
        for (agent,) in connection.execute(TOO_MANY, (self._entries_per_agent,)).fetchall():
            (newest,) = connection.execute(NEWEST_SURPLUS, (agent, self._entries_per_agent)).fetchone()
            while connection.execute(FORGET_SURPLUS, (agent, newest, RETENTION_STEP)).rowcount == RETENTION_STEP:
                if not is_idle():
                    return
        self._retained_at = self._at

    def _forget_some(self, connection: sqlite3.Connection) -> bool:
        """Remove a step of old entries; whether none is left.

        Age is supervised time: a wall clock that jumps ahead must not empty the journal.
        """
        before = self._at - self._keep_seconds
        last, wall = connection.execute(OLDEST_STEP, (RETENTION_STEP, before)).fetchone()
        if last is None:
            return True
        connection.execute("BEGIN IMMEDIATE")
        removed = connection.execute("DELETE FROM entries WHERE seq <= ?", (last,)).rowcount
        connection.execute("DELETE FROM incarnations WHERE ended_wall < ?", (wall,))
        connection.execute("COMMIT")
        return removed < RETENTION_STEP

    def _reopen(self) -> sqlite3.Connection:
        try:
            connection, damage = open_sound(self._path, None if self._content_suspect else "light")
        except (ConfigurationError, UnsafeFile) as error:
            raise JournalFailed(f"the journal cannot be opened again: {error.message}", error.remedy) from error
        self.damage = damage or self.damage
        self._connection, self._identity = connection, identity(self._path)
        self._content_suspect = False
        (last,) = connection.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'entries'").fetchone()
        if (last or 0) < self._acknowledged:
            why = f"the disk lost entries {last or 0} to {self._acknowledged} after it had confirmed them"
            self.damage = self.damage or Damage(why, kept_as="")
        return connection

    def _abandon(self, error: sqlite3.Error) -> None:
        """Give up the transaction, and the connection where what it believes of the file is no longer to be trusted.

        Linux marks pages clean when writing them back fails, so that a second fsync of the same descriptor can succeed
        without them ("fsyncgate", 2018). SQLite writes the frames of a failed commit again before it syncs again, and
        a new descriptor does not begin with errors forgotten; nothing here repeats a bare fsync.
        """
        connection = self._connection
        if connection is None:
            return
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        with suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY):
                return  # Nothing reached the file, and reopening would ask a full disk for more.
        self._content_suspect = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
        self._connection = None
        with suppress(sqlite3.Error):
            connection.close()


def _write_incarnation(connection: sqlite3.Connection, row: Incarnation) -> None:
    key = (row.agent, row.incarnation)
    found = connection.execute("SELECT * FROM incarnations WHERE agent = ? AND incarnation = ?", key).fetchone()
    columns = unsealed("incarnations", found) if found else None
    known = Incarnation(*columns) if columns else None
    merged = row.merged(known)
    if merged != known:
        connection.execute(INSERT_INCARNATION, sealed("incarnations", *merged.columns))
