"""The one connection that writes: whole batches in one transaction, and housekeeping in between."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from phoenixd.drivers.journal.histories import Histories
from phoenixd.drivers.journal.migration import Migrated, Postponed, bring_up
from phoenixd.drivers.journal.moved import identity, put_back
from phoenixd.drivers.journal.reserve import Reserve
from phoenixd.drivers.journal.retention import ENTRIES_PER_AGENT, KEEP_SECONDS, Retention
from phoenixd.drivers.journal.rows import BatchRows, Row, sealed, sealed_entry
from phoenixd.drivers.journal.salvage import Damage, open_sound
from phoenixd.drivers.journal.schema import Check, forget_read, retired_row
from phoenixd.drivers.journal.tables import (
    CASES_KEY,
    EPOCH_KEY,
    INSERT_AGENT,
    INSERT_ENTRY,
    INSERT_HANDOFF,
    INSERT_MARKER,
    INSERT_META,
    INSERT_SPEC,
    INSERT_USAGE,
    MUTES_KEY,
    SAVED_KEY,
    TASKS_KEY,
    UNDO_KEY,
)
from phoenixd.errors import ConfigurationError, JournalFailed, UnsafeFile

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
        self.damage: Damage | None = None
        self.migrated: Migrated | None = None
        """What became of a journal of an older version; None where it was of this one."""
        self.trouble: str | None = None
        """What housekeeping last failed at; commits go on."""
        self._path = path
        self._reserve = reserve
        self._retention = Retention(entries_per_agent, keep_seconds)
        self._specs: dict[str, Row] = {}
        """The rows that stand in the journal, by agent; the tasks, which are one row, under TASKS_KEY."""
        self._histories = Histories()
        self._connection: sqlite3.Connection | None = None
        self._unmigrated: sqlite3.Connection | None = None
        """Holds a journal open that is still of an older version: on a full disk nobody could open it anew to read."""
        self._identity = (0, 0)
        self._content_suspect = False
        self._acknowledged = 0
        self._unmoved_commits = 0
        self._at = 0.0
        try:
            self._connect(None)
        except Postponed as full:
            # Agents are watched over all the same, and each commit tries it again.
            self.trouble = full.message
        reserve.ensure()

    def write(self, requests: Sequence[BatchRows | Fact | Touch]) -> list[tuple[int, ...]]:
        """Make all requests durable together; the row numbers of each one's entries. Raises JournalFailed.

        A failed write may still come to light after a crash, whole: its frames can have reached the disk.
        """
        try:
            connection = self._sound() or self._reopen()
            connection.execute("BEGIN IMMEDIATE")
            specs: dict[str, Row] = {}
            numbers = [self._write_one(connection, request, specs) for request in requests]
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._abandon(error)
            raise JournalFailed(f"the journal did not take a batch: {error}") from error
        except OSError as error:
            raise JournalFailed(f"the journal's file cannot be put back: {error}") from error
        self._specs |= specs
        self._histories.keep()
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
            self._retention.rest(self._connection, self._at, is_idle)
            self.trouble = None
        except sqlite3.Error as error:
            self.trouble = str(error)
            self._abandon(error)

    def close(self) -> None:
        self._hold(None)
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _sound(self) -> sqlite3.Connection | None:
        """The connection, as long as it is one to the file that bears the journal's name."""
        if self._connection is not None and identity(self._path) != self._identity:
            self.damage = put_back(self._connection, self._path)
            self._connection = None
        return self._connection

    def _write_one(
        self, connection: sqlite3.Connection, request: BatchRows | Fact | Touch, specs: dict[str, Row]
    ) -> tuple[int, ...]:
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
        for row in request.specs:
            # An agent's specification is written once for each change, not with each snapshot.
            if specs.get(row[0], self._specs.get(row[0])) != row:
                connection.execute(INSERT_SPEC, row)
                specs[row[0]] = row
        for name, _ in request.removed:
            connection.execute("DELETE FROM agents WHERE name = ?", (name,))
            connection.execute("DELETE FROM specs WHERE name = ?", (name,))
            specs[name] = ()
        connection.executemany(INSERT_META, [retired_row(name, last) for name, last in request.removed])
        self._histories.write(connection, request)
        connection.executemany(INSERT_USAGE, request.usage)
        connection.executemany(INSERT_HANDOFF, request.handoffs)
        connection.executemany(INSERT_MARKER, request.markers)
        connection.execute(INSERT_META, sealed("meta", SAVED_KEY, request.saved))
        present = (
            (TASKS_KEY, request.tasks), (CASES_KEY, request.cases), (UNDO_KEY, request.undoable),
            (MUTES_KEY, request.mutes),
        )  # fmt: skip
        for key, value in present:
            if specs.get(key, self._specs.get(key)) != (value,):
                connection.execute(INSERT_META, sealed("meta", key, value))
                specs[key] = (value,)
        if request.epoch:
            connection.execute(INSERT_META, sealed("meta", EPOCH_KEY, str(request.epoch)))
        self._at = request.at
        return numbers

    def _reopen(self) -> sqlite3.Connection:
        try:
            connection = self._connect(None if self._content_suspect else "light")
        except (ConfigurationError, UnsafeFile) as error:
            raise JournalFailed(f"the journal cannot be opened again: {error.message}", error.remedy) from error
        self._content_suspect = False
        forget_read()
        (last,) = connection.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'entries'").fetchone()
        if (last or 0) < self._acknowledged:
            why = f"the disk lost entries {last or 0} to {self._acknowledged} after it had confirmed them"
            self.damage = self.damage or Damage(why, kept_as="")
        return connection

    def _connect(self, check: Check | None) -> sqlite3.Connection:
        """Open the journal, sound and of this version; raises Postponed, JournalFailed, ConfigurationError."""
        connection, damage = open_sound(self._path, check)
        self.damage = damage or self.damage
        try:
            self.migrated = bring_up(connection, self._path) or self.migrated
            rows = connection.execute("SELECT name, spec, crc FROM specs").fetchall()
        except Postponed:
            self._hold(connection)
            raise
        except sqlite3.Error as error:
            connection.close()
            raise JournalFailed(f"the journal at {self._path} cannot be read: {error}") from error
        except BaseException:
            connection.close()
            raise
        self._hold(None)
        self._specs = {row[0]: row for row in rows}
        self._histories = Histories()
        self._connection, self._identity = connection, identity(self._path)
        return connection

    def _hold(self, connection: sqlite3.Connection | None) -> None:
        held, self._unmigrated = self._unmigrated, connection
        if held is not None:
            held.close()

    def _abandon(self, error: sqlite3.Error) -> None:
        """Give up the transaction, and the connection where what it believes of the file is no longer to be trusted.

        Linux marks pages clean when writing them back fails, so that a second fsync of the same descriptor can succeed
        without them ("fsyncgate", 2018). SQLite writes the frames of a failed commit again before it syncs again, and
        a new descriptor does not begin with errors forgotten; nothing here repeats a bare fsync.
        """
        self._histories.drop()
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
