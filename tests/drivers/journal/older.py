"""Journals of older versions, for tests: one that was written by that version, and today's taken back to it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from phoenixd.drivers.journal.rows import sealed
from phoenixd.drivers.journal.tables import FIRST, SCHEMA_KEY, SCHEMA_VERSION, SCHEMAS

VERSION_1 = Path(__file__).with_name("version_1.sql")


def write_version_1(path: Path) -> None:
    """The journal as the last release wrote it that knew no other version."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_1.read_text(encoding="utf-8"))
        connection.execute("PRAGMA journal_mode = WAL")
    path.chmod(0o600)


def content(path: Path) -> dict[str, Any]:
    """All that a journal says, by SQLite's own word."""
    with closing(sqlite3.connect(path)) as connection:
        return dict(_said(connection))


def take_back_to_version_1(path: Path) -> None:
    """Make a journal of today what the version before it would have written, while no daemon runs."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        specs = dict(connection.execute("SELECT name, spec FROM specs"))
        for name, snapshot in connection.execute("SELECT name, snapshot FROM agents").fetchall():
            whole = json.dumps({**json.loads(snapshot), "spec": json.loads(specs[name])}, separators=(",", ":"))
            connection.execute("REPLACE INTO agents VALUES (?, ?, ?)", sealed("agents", name, whole))
        connection.execute(FIRST.tables["incarnations"])
        lives = "SELECT agent, incarnation, run_id, mode, session_id, started, ended, code, signal, cause, end_reason"
        for row in connection.execute(f"{lives} FROM lives").fetchall():
            values = ", ".join("?" * (len(row) + 1))
            connection.execute(f"INSERT INTO incarnations VALUES ({values})", sealed("incarnations", *row))
        for name in SCHEMAS[SCHEMA_VERSION].tables.keys() - FIRST.tables.keys():
            connection.execute(f"DROP TABLE {name}")
        connection.execute("REPLACE INTO meta VALUES (?, ?, ?)", sealed("meta", SCHEMA_KEY, "1"))
        connection.execute("PRAGMA user_version = 1")
        connection.execute("COMMIT")


def _said(connection: sqlite3.Connection) -> Iterator[tuple[str, Any]]:
    yield "version", connection.execute("PRAGMA user_version").fetchone()[0]
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    for table in sorted(tables):
        yield table, sorted(map(repr, connection.execute(f"SELECT * FROM {table}")))
