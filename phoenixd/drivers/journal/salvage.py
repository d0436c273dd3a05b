"""What happens to a journal that does not hold what was written: it is kept aside, and its readable rows live on.

The new file is complete under another name before the old one is touched, so that a crash at any point leaves either
the damaged journal, which is then salvaged again, or a finished one, which is then put in place. Never an empty one.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path

from phoenixd.directories import sync_directory
from phoenixd.drivers.journal.rows import Row, sealed, unsealed
from phoenixd.drivers.journal.schema import (
    Check,
    Damaged,
    connect,
    create,
    is_readonly,
    make_way,
    meta,
    require_plain,
    settle_log,
    shape_of,
    unfit_agents,
    verify,
)
from phoenixd.drivers.journal.tables import INSERT_META, SAVED_KEY, SCHEMA_KEY, SCHEMA_VERSION, SCHEMAS
from phoenixd.errors import JournalFailed

DAMAGE_KEY = "#damage"
ENTRIES_SALVAGED = 100_000
"""The newest entries that move into the new file; all others stay readable, as far as they are, in the one kept."""
SEQUENCE_GAP = 1000
"""Row numbers skipped after a salvage: followers of the event stream may know rows that were lost."""
PROBES = 1000
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
"""Python decodes names and messages of SQLite's too, and those can come from a damaged page."""
THOROUGH_BELOW = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Damage:
    """What was wrong with the journal, where it is kept, which agents were saved from it and which were not."""

    why: str
    kept_as: str
    agents: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    entries: int = 0

    def __str__(self) -> str:
        told = [self.why]
        if self.agents or self.lost:
            told.append(f"{self.entries} entries and {len(self.agents)} agents were saved")
        if self.lost:
            told.append(f"lost: {', '.join(self.lost)}")
        if self.kept_as:
            told.append(f"the damaged one is kept as {self.kept_as}")
        return "; ".join(told)


def open_sound(path: Path, check: Check | None = None) -> tuple[sqlite3.Connection, Damage | None]:
    """Open the journal for writing, sound at last; with what was damaged, if it was.

    check: how much to look at, by default as much as its size allows. Raises ConfigurationError for a journal of a
    newer version, UnsafeFile, and JournalFailed where the disk does not let us look or write.
    """
    try:
        damage = _settle(path, check)
        try:
            return connect(path), damage
        except sqlite3.Error as error:
            # What can be read need not be writable: a garbled header can claim a format that SQLite only reads.
            if damage is not None or not _is_damage(error, path):
                raise
            _salvage(path, str(error))
            damage = _finish(path)
            return connect(path), damage
    except (OSError, sqlite3.Error, Damaged) as error:
        raise JournalFailed(f"the journal at {path} cannot be opened: {error}") from error


def _settle(path: Path, check: Check | None) -> Damage | None:
    if (damage := _finish(path)) is not None:
        return damage
    if not os.path.lexists(path) and not _beside(path, "-wal").exists():
        _create_empty(path)
        return None
    try:
        _verify_file(path, check)
    except Damaged as error:
        _salvage(path, str(error))
        return _finish(path)
    return None


def _verify_file(path: Path, check: Check | None) -> None:
    if not os.path.lexists(path):
        raise Damaged("the journal is gone, and its log is still there")
    require_plain(path)
    size = path.stat().st_size
    if size == 0:
        raise Damaged("the file is empty")
    try:
        # Reading only: a connection that may write would move the log into the file when it closes.
        with closing(connect(path, readonly=True)) as connection:
            verify(connection, check or ("thorough" if size < THOROUGH_BELOW else "quick"))
    except sqlite3.Error as error:
        if _is_damage(error, path):
            raise Damaged(str(error)) from error
        raise
    except UnicodeDecodeError as error:
        raise Damaged(f"it holds what is no text: {error}") from error


def _is_damage(error: sqlite3.Error, path: Path) -> bool:
    """Whether an error speaks of the file's content rather than of the disk, the locks or the memory."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    unwritable = is_readonly(error) and os.access(path, os.W_OK)
    # SQLITE_ERROR: statements of ours do not compile against what the file says its tables are.
    return unwritable or code in (
        sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH,
    )  # fmt: skip


def _create_empty(path: Path) -> None:
    # Under its name the journal is never without its tables: an empty file there is always damage.
    part = _fresh_part(path)
    os.rename(part, path)
    sync_directory(path.parent)


def _salvage(path: Path, why: str) -> None:
    """Write all that can be read into a new journal beside the old one."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    kept = _beside(path, f".corrupt-{stamp}")
    count = 1
    while kept.exists():
        count += 1
        kept = _beside(path, f".corrupt-{stamp}-{count}")
    # Rows are carried over as they are: where they were written by an older version, the outcome is migrated.
    version = _version_by_shape(path)
    part = _fresh_part(path, version)
    with closing(connect(part)) as target:
        target.execute("BEGIN IMMEDIATE")
        damage = _copy(path, target, Damage(why, str(kept)), version)
        target.execute(INSERT_META, sealed("meta", DAMAGE_KEY, json.dumps(astuple(damage))))
        target.execute("COMMIT")
        settle_log(target)
    os.rename(part, _beside(path, ".new"))
    sync_directory(path.parent)


def _finish(path: Path) -> Damage | None:
    """Put a finished salvage in the place of the damaged journal, if there is one; safe to repeat."""
    new = _beside(path, ".new")
    make_way(new)
    if not new.exists():
        return None
    with closing(connect(new, readonly=True)) as connection:
        text = meta(connection, DAMAGE_KEY)
    if text is None:
        raise Damaged(f"{new} was not written by a salvage")
    why, kept_as, agents, lost, entries = json.loads(text)
    for suffix in ("", "-wal"):
        with suppress(FileNotFoundError):
            os.rename(f"{path}{suffix}", f"{kept_as}{suffix}")
    # A log must never meet a database that it does not belong to: SQLite would replay it.
    for leftover in (_beside(path, "-shm"), _beside(new, "-wal"), _beside(new, "-shm")):
        leftover.unlink(missing_ok=True)
    os.rename(new, path)
    sync_directory(path.parent)
    return Damage(why, kept_as, tuple(agents), tuple(lost), entries)


def _version_by_shape(path: Path) -> int:
    """The version that most tables fit: header and rows may be damaged, and rows must fit their table."""
    _keep_log_of_an_empty_file(path)
    try:
        with closing(connect(path, readonly=True)) as source:
            found = shape_of(source).items()
    except (*UNREADABLE, OSError):
        return SCHEMA_VERSION
    return max(SCHEMAS, key=lambda version: (len(found & SCHEMAS[version].shape.items()), version))


def _copy(path: Path, target: sqlite3.Connection, damage: Damage, version: int) -> Damage:
    agents: list[str] = []
    lost: list[str] = []
    entries = last_entry = 0
    newest: tuple[float, float] | None = None
    try:
        source = connect(path, readonly=True)
    except (sqlite3.Error, OSError):
        return damage
    with closing(source):
        for table in SCHEMAS[version].tables:
            for row in _readable_rows(source, table):
                if (columns := unsealed(table, row)) is None:
                    if table == "agents":
                        lost.append(str(row[0])[:64])
                    continue
                if table == "meta" and columns[0] in (SCHEMA_KEY, DAMAGE_KEY):
                    continue
                places = ", ".join("?" * len(row))
                target.execute(f"INSERT OR IGNORE INTO {table} VALUES ({places})", row)  # noqa: S608 - our own names
                if table == "agents":
                    agents.append(str(columns[0]))
                elif table == "entries" and columns[0] > last_entry:
                    entries, last_entry, newest = entries + 1, columns[0], (columns[1], columns[2])
    if version == SCHEMA_VERSION:
        unfit = unfit_agents(target)
        target.executemany("DELETE FROM agents WHERE name = ?", [(name,) for name in unfit])
        target.execute("DELETE FROM specs WHERE name NOT IN (SELECT name FROM agents)")
        agents = [name for name in agents if name not in unfit]
        lost.extend(unfit)
    target.execute("INSERT OR IGNORE INTO sqlite_sequence VALUES ('entries', 0)")
    target.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'entries'", (last_entry + SEQUENCE_GAP,))
    if newest and meta(target, SAVED_KEY) is None:
        # Supervised time must not begin again at 0 under deadlines that were set in it.
        saved = {"at": newest[0], "wall": newest[1], "next_item": last_entry + SEQUENCE_GAP}
        target.execute(INSERT_META, sealed("meta", SAVED_KEY, json.dumps(saved)))
    return Damage(
        damage.why, damage.kept_as, tuple(sorted(set(agents))), tuple(sorted(set(lost) - set(agents))), entries
    )


def _keep_log_of_an_empty_file(path: Path) -> None:
    """Give an empty file one blank page: SQLite deletes the log of a file without any, and the log may hold it all."""
    if not os.path.lexists(path) or path.stat().st_size == 0:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        os.ftruncate(descriptor, 4096)
        os.close(descriptor)


def _readable_rows(source: sqlite3.Connection, table: str) -> Iterator[Row]:
    """Every row that SQLite can still reach: from the front, from the back, and one by one between."""
    begin, low, high = 0, 0, None
    if table == "entries":
        with suppress(*UNREADABLE):
            begin = low = (source.execute("SELECT max(seq) FROM entries").fetchone()[0] or 0) - ENTRIES_SALVAGED
    select = f"SELECT rowid, * FROM {table} WHERE rowid"  # noqa: S608 - our own names
    try:
        for rowid, *row in source.execute(f"{select} > ? ORDER BY rowid", (begin,)):
            if rowid <= low and low != begin:
                break  # A tree that goes round in circles.
            low = rowid
            yield tuple(row)
        else:
            return
    except UNREADABLE:
        pass
    with suppress(*UNREADABLE):
        for rowid, *row in source.execute(f"{select} > ? ORDER BY rowid DESC", (low,)):
            if high is not None and rowid >= high:
                break
            high = rowid
            yield tuple(row)
    for probe in range(low + 1, min(high or low + PROBES, low + PROBES)):
        with suppress(*UNREADABLE):
            for _, *row in source.execute(f"{select} = ?", (probe,)):
                yield tuple(row)


def _fresh_part(path: Path, version: int = SCHEMA_VERSION) -> Path:
    part = _beside(path, ".part")
    for leftover in (part, _beside(part, "-wal"), _beside(part, "-shm")):
        leftover.unlink(missing_ok=True)
    create(part, version)
    return part


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
