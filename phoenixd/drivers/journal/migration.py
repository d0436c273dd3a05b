"""From an older version of the journal to this one: a list of steps, read from top to bottom, in one transaction.

The old file is kept beside first, and a crash at any point leaves the old journal or the new one. A room that brings
tables of its own adds a version to tables.py, and a row here with the function that leads to it.
"""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path

from phoenixd.drivers.journal import version_2, version_3, version_4
from phoenixd.drivers.journal.reserve import RESERVE_BYTES
from phoenixd.drivers.journal.schema import (
    Damaged,
    kept_aside,
    mark,
    settle_log,
    verify_content,
    version_of,
)
from phoenixd.drivers.journal.tables import SCHEMA_VERSION, SCHEMAS
from phoenixd.errors import JournalFailed

Step = Callable[[sqlite3.Connection], None]

MIGRATIONS: tuple[tuple[int, Step], ...] = (
    (2, version_2.migrate), (3, version_3.migrate), (4, version_4.migrate),
)  # fmt: skip
"""The version that a step leads to, from the one before it. What was released is never changed."""


class Postponed(JournalFailed):
    """The disk does not let us migrate now. The old journal is as it was, and the next attempt may be better."""


@dataclass(frozen=True, slots=True)
class Migrated:
    """That a journal was brought to this version, and where the old one is kept."""

    before: int
    now: int
    kept_as: str


def bring_up(connection: sqlite3.Connection, path: Path) -> Migrated | None:
    """Migrate a sound journal of an older version that is open for writing; None for one of this version.

    Raises Postponed, and ConfigurationError where it holds an agent in a form that this version cannot read.
    """
    before = version_of(connection)
    if before >= SCHEMA_VERSION:
        return None
    try:
        # What cannot be read is refused before anything is written.
        raised_copy(connection).close()
        kept = _keep_aside(connection, path, before)
        connection.execute("BEGIN IMMEDIATE")
        try:
            raise_to_newest(connection)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
    except (OSError, sqlite3.Error) as error:
        raise Postponed(
            f"the journal {path} could not be migrated from schema {before} to {SCHEMA_VERSION} ({error}); it is as it"
            " was",
            f"free space: df -h {shlex.quote(str(path.parent))}",
        ) from error
    for older in path.parent.glob(f"{path.name}.version-*"):
        if older != kept:
            older.unlink(missing_ok=True)
    return Migrated(before, SCHEMA_VERSION, str(kept))


def raise_to_newest(connection: sqlite3.Connection) -> None:
    """Take every step that is missing, within the transaction that is open, and look whether the outcome is sound."""
    for version, step in MIGRATIONS:
        if version_of(connection) < version:
            step(connection)
            mark(connection, version)
    try:
        verify_content(connection, SCHEMA_VERSION)
    except Damaged as error:
        raise sqlite3.DatabaseError(f"the migrated journal is not sound: {error}") from error


def raised_copy(source: sqlite3.Connection) -> sqlite3.Connection:
    """What an older journal says, but for its entries, as this version reads it: in memory, where the disk is full."""
    schema = SCHEMAS[version_of(source)]
    with ExitStack() as stack:
        copy = stack.enter_context(closing(sqlite3.connect(":memory:", isolation_level=None)))
        for statement in (*schema.tables.values(), *schema.indexes.values()):
            copy.execute(statement)
        for table in schema.light:
            for row in source.execute(f"SELECT * FROM {table}"):  # noqa: S608 - our own names
                copy.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608
        copy.execute(f"PRAGMA user_version = {version_of(source):d}")
        raise_to_newest(copy)
        stack.pop_all()
    return copy


def _keep_aside(source: sqlite3.Connection, path: Path, version: int) -> Path:
    """Copy the journal, its log included, to the name that tells its version; whole and synced, or not at all."""
    kept = kept_aside(path, version)
    part = kept.with_name(kept.name + ".part")
    part.unlink(missing_ok=True)
    _require_room(path)
    os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    try:
        with closing(sqlite3.connect(part, isolation_level=None)) as target:
            source.backup(target)
            settle_log(target)
        for leftover in ("-wal", "-shm"):
            part.with_name(part.name + leftover).unlink(missing_ok=True)
        _sync(part)
        os.rename(part, kept)
        _sync(path.parent)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    return kept


def _require_room(path: Path) -> None:
    """Refuse before the disk is full: agents work on it too."""
    with_log = [path, path.with_name(path.name + "-wal")]
    needed = RESERVE_BYTES + 2 * sum(file.stat().st_size for file in with_log if file.exists())
    disk = os.statvfs(path.parent)
    if (free := disk.f_bavail * disk.f_frsize) < needed:
        raise OSError(f"{needed // 1024} KiB are needed in {path.parent}, and {free // 1024} KiB are left")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
