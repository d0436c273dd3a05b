"""How the journal's file is opened, and when its content is believed."""

from __future__ import annotations

import os
import shlex
import sqlite3
import stat
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Literal

from phoenixd.core.agent import Agent
from phoenixd.documents.codec import SpecMissing, Undecodable, load_snapshot
from phoenixd.drivers.journal.rows import sealed, unsealed
from phoenixd.drivers.journal.tables import INSERT_META, RETIRED_KEY, SCHEMA_KEY, SCHEMA_VERSION, SCHEMAS
from phoenixd.errors import ConfigurationError, UnsafeFile

Check = Literal["thorough", "quick", "light"]
CHECKS: dict[Check, tuple[str, ...]] = {
    "thorough": ("integrity_check(5)",),  # Indexes are compared with their tables too: 0.15 s for 64 MiB.
    "quick": ("quick_check(5)",),  # 0.8 s for 1 GB.
    "light": (),  # Each table that a start rests on.
}
BUSY_TIMEOUT = 1.0
BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite opens beside a database, and would wait for where it is a FIFO."""


class Damaged(Exception):
    """The database does not hold what was written to it."""


def connect(path: Path, *, readonly: bool = False) -> sqlite3.Connection:
    """Open a connection with the journal's settings; raises sqlite3.Error and UnsafeFile."""
    require_plain(path)
    for suffix in BESIDE:
        make_way(path.with_name(path.name + suffix))
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
        # An operator's answer stands in a snapshot until its verdict, and no page is to keep it for longer.
        connection.execute("PRAGMA secure_delete = ON")
        # Checkpoints are the writer's to time: SQLite's own would fall into a commit that somebody awaits.
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA journal_size_limit = 4194304")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
        return connection
    except BaseException:
        connection.close()
        raise


def create(path: Path, version: int = SCHEMA_VERSION) -> None:
    """Make an empty journal in a new file."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.close(descriptor)
    with closing(connect(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for statement in (*SCHEMAS[version].tables.values(), *SCHEMAS[version].indexes.values()):
            connection.execute(statement)
        mark(connection, version)
        connection.execute("COMMIT")
        settle_log(connection)


def mark(connection: sqlite3.Connection, version: int) -> None:
    """Say in both places which version this is."""
    connection.execute(INSERT_META, sealed("meta", SCHEMA_KEY, str(version)))
    connection.execute(f"PRAGMA user_version = {version:d}")


def version_of(connection: sqlite3.Connection) -> int:
    """The version that the file's header names."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def shape_of(connection: sqlite3.Connection) -> dict[str, str]:
    """The statements that made the tables and indexes that are there."""
    return dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"))


def settle_log(connection: sqlite3.Connection) -> None:
    """Move all of the log into the file, so that the file alone is the database; raises sqlite3.Error.

    Closing does the same, but a failure there is silent, and a file that is renamed leaves its log behind.
    """
    (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise sqlite3.OperationalError("the log could not be moved into the file")


def verify(connection: sqlite3.Connection, check: Check) -> None:
    """Raise Damaged unless structure, shape and every row that a start rests on are as they were written.

    A journal of an older version is as sound as one of ours. One of a newer version, or one that this version cannot
    read, is no damage: raises ConfigurationError.
    """
    if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        raise Damaged("it has lost its write-ahead log")
    _refuse_the_future(connection)
    version = version_of(connection)
    schema = SCHEMAS.get(version)
    if schema is None:
        raise Damaged("its schema version is unreadable")
    for pragma in CHECKS[check] or [f"integrity_check({table})" for table in schema.light]:
        findings = [str(finding) for (finding,) in connection.execute(f"PRAGMA {pragma}")]
        if findings != ["ok"]:
            raise Damaged("; ".join(findings))
    verify_content(connection, version)


def verify_content(connection: sqlite3.Connection, version: int) -> None:
    """Raise as `verify` does unless tables and rows are those of a version."""
    if shape_of(connection) != SCHEMAS[version].shape:
        raise Damaged("its tables are not the journal's")
    if meta(connection, SCHEMA_KEY) != str(version):
        raise Damaged("its schema version is unreadable")
    if any(unsealed("meta", row) is None for row in connection.execute("SELECT key, value, crc FROM meta")):
        raise Damaged("a row of meta fails its checksum")
    if version == SCHEMA_VERSION:
        load_agents(connection)
    elif any(unsealed("agents", row) is None for row in connection.execute("SELECT name, snapshot, crc FROM agents")):
        raise Damaged("the snapshot of an agent fails its checksum")


def load_agents(connection: sqlite3.Connection) -> tuple[Agent, ...]:
    """All agents of the snapshot; raises Damaged, or ConfigurationError for one that another version wrote."""
    agents: list[Agent] = []
    rows = "SELECT name, snapshot, agents.crc, spec, specs.crc FROM agents LEFT JOIN specs USING (name) ORDER BY name"
    for name, snapshot, crc, spec, number in connection.execute(rows):
        if unsealed("agents", (name, snapshot, crc)) is None:
            raise Damaged("the snapshot of an agent fails its checksum")
        if spec is not None and unsealed("specs", (name, spec, number)) is None:
            raise Damaged("the specification of an agent fails its checksum")
        try:
            agents.append(_read(snapshot, number, spec or ""))
        except SpecMissing as error:
            raise Damaged(f"agent {name}: {error}") from error
        except Undecodable as error:
            raise ConfigurationError(
                f"the journal holds agent {name} in a form that this version cannot read ({error})",
                remedy="run the version that wrote it; nothing was changed",
            ) from error
    return tuple(agents)


@cache
def _read(snapshot: str, number: int | None, spec: str) -> Agent:
    """An agent is the same value however often its rows are read: at a start they are looked through, then loaded."""
    return load_snapshot(snapshot, number, spec)


def forget_read() -> None:
    """Keep nothing of what was read: nobody is to load it soon."""
    _read.cache_clear()


def unfit_agents(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Agents whose specification is not there or is another one: what a salvage could not make whole."""
    unfit = []
    rows = "SELECT name, snapshot, spec, specs.crc FROM agents LEFT JOIN specs USING (name)"
    for name, snapshot, spec, number in connection.execute(rows).fetchall():
        try:
            load_snapshot(snapshot, number, spec or "")
        except SpecMissing:
            unfit.append(str(name))
        except Undecodable:
            continue  # It is whole, and of another version: that is told when it is loaded.
    return tuple(unfit)


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


def make_way(path: Path) -> None:
    """Move aside what stands in the place of a file of ours and is no plain file; raises OSError.

    An open of it would wait for ever, or be refused for ever.
    """
    try:
        if stat.S_ISREG(os.lstat(path).st_mode):
            return
    except FileNotFoundError:
        return
    number = 1
    while os.path.lexists(aside := f"{path}.aside-{number}"):
        number += 1
    os.rename(path, aside)


def kept_aside(path: Path, version: int) -> Path:
    """The name under which the journal of an older version is kept, once it was migrated."""
    return path.with_name(f"{path.name}.version-{version}")


def _refuse_the_future(connection: sqlite3.Connection) -> None:
    version = version_of(connection)
    if version <= SCHEMA_VERSION or meta(connection, SCHEMA_KEY) != str(version):
        return
    path = Path(connection.execute("PRAGMA database_list").fetchone()[2])
    remedy = "run the newer version of phoenixd again, or choose another --state-dir; nothing was changed"
    kept = kept_aside(path, SCHEMA_VERSION)
    if kept.exists():
        aside = _free_name(path.with_name("newer-journal")).name
        remedy += (
            f". To go back to the journal of before, without what happened since: cd {shlex.quote(str(path.parent))}"
            f" && mkdir {aside} && mv {path.name}* {aside}/ && cp -p {aside}/{kept.name} {path.name}"
        )
    raise ConfigurationError(
        f"the journal {path} has schema {version}, and this version of phoenixd knows {SCHEMA_VERSION}", remedy
    )


def _free_name(wanted: Path) -> Path:
    """A name that nothing bears: who goes back a second time keeps what was put aside the first time."""
    number, found = 1, wanted
    while os.path.lexists(found):
        number += 1
        found = wanted.with_name(f"{wanted.name}-{number}")
    return found
