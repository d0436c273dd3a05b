"""The journal's tables, how its file is opened, and when its content is believed."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Literal

from phoenixd.core.agent import Agent
from phoenixd.documents.codec import Undecodable, load_agent
from phoenixd.drivers.journal.rows import sealed, unsealed
from phoenixd.errors import ConfigurationError, UnsafeFile

SCHEMA_VERSION = 1
"""Kept twice, in the file's header and as a checked row of `meta`: one flipped bit must not look like the future.

`meta` therefore keeps its shape in every version to come.
"""

TABLES = {
    "meta": "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL)",
    "agents": "CREATE TABLE agents (name TEXT PRIMARY KEY, snapshot TEXT NOT NULL, crc INTEGER NOT NULL)",
    "entries": (
        "CREATE TABLE entries (seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, wall REAL NOT NULL, agent TEXT,"
        " incarnation INTEGER NOT NULL, event TEXT NOT NULL, detail TEXT NOT NULL, state TEXT, reason TEXT NOT NULL,"
        " readings TEXT NOT NULL, actions TEXT NOT NULL, crc INTEGER NOT NULL)"
    ),
    "incarnations": (
        "CREATE TABLE incarnations (agent TEXT NOT NULL, incarnation INTEGER NOT NULL, run_id TEXT, mode TEXT,"
        " session_id TEXT, began_wall REAL, ended_wall REAL, code INTEGER, signal INTEGER, cause TEXT, reason TEXT,"
        " crc INTEGER NOT NULL, PRIMARY KEY (agent, incarnation))"
    ),
}
INDEXES = {
    "entries_by_agent": "CREATE INDEX entries_by_agent ON entries (agent, seq)",
    "entries_by_wall": "CREATE INDEX entries_by_wall ON entries (wall)",
}
SAVED_KEY, SCHEMA_KEY, RETIRED_KEY = "#saved", "#schema", "#retired "
EPOCH_KEY = "#epoch"
"""Not part of the saved row: an older version that writes that one anew leaves this one as it is."""
"""Rows of `meta` that are ours; a remembered fact may not begin with the sign."""

Check = Literal["thorough", "quick", "light"]
CHECKS: dict[Check, tuple[str, ...]] = {
    "thorough": ("integrity_check(5)",),  # Indexes are compared with their tables too: 0.15 s for 64 MiB.
    "quick": ("quick_check(5)",),  # 0.8 s for 1 GB.
    "light": ("integrity_check(agents)", "integrity_check(meta)", "integrity_check(incarnations)"),
}
BUSY_TIMEOUT = 1.0

INSERT_META = (
    "INSERT INTO meta VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value, crc = excluded.crc"
)
INSERT_AGENT = (
    "INSERT INTO agents VALUES (?, ?, ?)"
    " ON CONFLICT (name) DO UPDATE SET snapshot = excluded.snapshot, crc = excluded.crc"
)
INSERT_ENTRY = "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_INCARNATION = "INSERT OR REPLACE INTO incarnations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class Damaged(Exception):
    """The database does not hold what was written to it."""


def connect(path: Path, *, readonly: bool = False) -> sqlite3.Connection:
    """Open a connection with the journal's settings; raises sqlite3.Error and UnsafeFile."""
    require_plain(path)
    if readonly:
        return _connect(path, readonly=True)
    try:
        return _connect(path, readonly=False)
    except sqlite3.Error as error:
        if not is_readonly(error):
            raise
        # Where opening for writing fails in passing, for want of a descriptor say, SQLite opens for reading instead.
        return _connect(path, readonly=False)


def is_readonly(error: sqlite3.Error) -> bool:
    """Whether an error says that the file can only be read."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF == sqlite3.SQLITE_READONLY


def _connect(path: Path, *, readonly: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={'ro' if readonly else 'rw'}",
        uri=True, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False,
    )  # fmt: skip
    try:
        # A damaged text must fail its checksum, not the decoder.
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        if readonly:
            connection.execute("PRAGMA query_only = ON")
            return connection
        if connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            raise sqlite3.OperationalError("this file system does not take a write-ahead log")
        connection.execute("PRAGMA synchronous = FULL")
        # Checkpoints are the writer's to time: SQLite's own would fall into a commit that somebody awaits.
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA journal_size_limit = 4194304")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
        return connection
    except BaseException:
        connection.close()
        raise


def create(path: Path) -> None:
    """Make an empty journal in a new file."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.close(descriptor)
    with closing(connect(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for statement in (*TABLES.values(), *INDEXES.values()):
            connection.execute(statement)
        connection.execute(INSERT_META, sealed("meta", SCHEMA_KEY, str(SCHEMA_VERSION)))
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
        settle_log(connection)


def settle_log(connection: sqlite3.Connection) -> None:
    """Move all of the log into the file, so that the file alone is the database; raises sqlite3.Error.

    Closing does the same, but a failure there is silent, and a file that is renamed leaves its log behind.
    """
    (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise sqlite3.OperationalError("the log could not be moved into the file")


def verify(connection: sqlite3.Connection, check: Check) -> None:
    """Raise Damaged unless structure, shape and every row that a start rests on are as they were written.

    A journal of a newer version, or one that this version cannot read, is no damage: raises ConfigurationError.
    """
    if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        raise Damaged("it has lost its write-ahead log")
    _refuse_the_future(connection)
    for pragma in CHECKS[check]:
        findings = [str(finding) for (finding,) in connection.execute(f"PRAGMA {pragma}")]
        if findings != ["ok"]:
            raise Damaged("; ".join(findings))
    found = dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"))
    if found != TABLES | INDEXES | {"sqlite_sequence": "CREATE TABLE sqlite_sequence(name,seq)"}:
        raise Damaged("its tables are not the journal's")
    if meta(connection, SCHEMA_KEY) != str(SCHEMA_VERSION):
        raise Damaged("its schema version is unreadable")
    if any(unsealed("meta", row) is None for row in connection.execute("SELECT key, value, crc FROM meta")):
        raise Damaged("a row of meta fails its checksum")
    load_agents(connection)


def load_agents(connection: sqlite3.Connection) -> tuple[Agent, ...]:
    """All agents of the snapshot; raises Damaged, or ConfigurationError for one that another version wrote."""
    agents: list[Agent] = []
    for row in connection.execute("SELECT name, snapshot, crc FROM agents ORDER BY name"):
        columns = unsealed("agents", row)
        if columns is None:
            raise Damaged("the snapshot of an agent fails its checksum")
        name, snapshot = columns
        try:
            agents.append(load_agent(snapshot))
        except Undecodable as error:
            raise ConfigurationError(
                f"the journal holds agent {name} in a form that this version cannot read ({error})",
                remedy="run the version that wrote it; nothing was changed",
            ) from error
    return tuple(agents)


def load_retired(connection: sqlite3.Connection) -> dict[str, int]:
    """The last incarnations of agents that were removed, by name; raises Damaged."""
    rows = connection.execute("SELECT key FROM meta WHERE key GLOB ?", (f"{RETIRED_KEY}*",)).fetchall()
    return {key.removeprefix(RETIRED_KEY): int(meta(connection, key) or 0) for (key,) in rows}


def retired_row(name: str, incarnation: int) -> tuple[str, str, int]:
    """The row of `meta` that keeps the last incarnation of an agent that is removed."""
    key, value, crc = sealed("meta", RETIRED_KEY + name, str(incarnation))
    return key, value, crc


def meta(connection: sqlite3.Connection, key: str) -> str | None:
    """A row of meta, or None where there is none; raises Damaged."""
    row = connection.execute("SELECT key, value, crc FROM meta WHERE key = ?", (key,)).fetchone()
    if row is None:
        return None
    if (columns := unsealed("meta", row)) is None:
        raise Damaged(f"{key} fails its checksum")
    return str(columns[1])


def require_plain(path: Path) -> None:
    """Refuse a journal that is anything but a private file of ours.

    By name only: opening and closing the file here would drop the locks of a connection that this process holds.
    """
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode):
        raise UnsafeFile(f"{path} is not a regular file")
    if found.st_uid != os.geteuid():
        raise UnsafeFile(f"{path} belongs to uid {found.st_uid}, not to uid {os.geteuid()}")
    if stat.S_IMODE(found.st_mode) & 0o077:
        os.chmod(path, 0o600)  # The -wal and -shm files take the mode of this one.


def _refuse_the_future(connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version <= SCHEMA_VERSION:
        return
    if meta(connection, SCHEMA_KEY) == str(version):
        raise ConfigurationError(
            f"the journal has schema {version}, and this version of phoenixd knows {SCHEMA_VERSION}",
            remedy="run the newer version, or choose another --state-dir; nothing was changed",
        )
