"""What is removed from the journal: in small steps, as long as nobody waits, and never on the path of a commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

KEEP_SECONDS = 30 * 24 * 3600.0
RETENTION_INTERVAL = 3600.0
RETENTION_STEP = 500
ENTRIES_PER_AGENT = 100_000
"""Entries of one agent that are kept at most: one that talks without end costs its own past, not the disk."""
LIVES_PER_AGENT, INCIDENTS_PER_AGENT = 10_000, 500
"""A loop without a pause has a life a second."""
TREATMENTS_PER_AGENT = 2000
HANDOFFS_PER_AGENT = 500
MARKERS_PER_AGENT = 5000
USAGE_PER_AGENT = 20_000
"""Samples; one that works without end makes a few hundred in a day."""

OLDEST_STEP = "SELECT max(seq) FROM (SELECT seq, at FROM entries ORDER BY seq LIMIT ?) WHERE at < ?"
TOO_MANY = "SELECT agent FROM {table} WHERE agent IS NOT NULL GROUP BY agent HAVING count(*) > ?"
NEWEST_SURPLUS = "SELECT {order} FROM {table} WHERE agent = ? ORDER BY {order} DESC LIMIT 1 OFFSET ?"
FORGET_SURPLUS = (
    "DELETE FROM {table} WHERE rowid IN"
    " (SELECT rowid FROM {table} WHERE agent = ? AND {order} <= ? ORDER BY {order} LIMIT ?)"
)
FORGET_LIVES = (
    "DELETE FROM lives WHERE rowid IN (SELECT rowid FROM lives WHERE at < ? AND (ended IS NOT NULL"
    " OR NOT EXISTS (SELECT 1 FROM agents WHERE name = lives.agent)"
    " OR EXISTS (SELECT 1 FROM lives AS later WHERE later.agent = lives.agent"
    " AND later.incarnation > lives.incarnation)) ORDER BY at LIMIT ?)"
)
"""The life of a run that goes on is kept, however long ago it began."""
FORGET_INCIDENTS = "DELETE FROM incidents WHERE rowid IN (SELECT rowid FROM incidents WHERE at < ? LIMIT ?)"

FORGET_TREATMENTS = "DELETE FROM treatments WHERE rowid IN (SELECT rowid FROM treatments WHERE at < ? LIMIT ?)"
FORGET_USAGE = "DELETE FROM usage WHERE rowid IN (SELECT rowid FROM usage WHERE at < ? LIMIT ?)"
FORGET_MARKERS = "DELETE FROM markers WHERE rowid IN (SELECT rowid FROM markers WHERE at < ? LIMIT ?)"
FORGET_HANDOFFS = "DELETE FROM handoffs WHERE rowid IN (SELECT rowid FROM handoffs WHERE at < ? LIMIT ?)"

IsIdle = Callable[[], bool]


class Retention:
    """Removes what is too old or too much. Age is supervised time: a clock that jumps must not empty the journal."""

    def __init__(self, entries_per_agent: int = ENTRIES_PER_AGENT, keep_seconds: float = KEEP_SECONDS) -> None:
        self._keep_seconds = keep_seconds
        self._bounds = (
            ("entries", "seq", entries_per_agent),
            ("lives", "incarnation", LIVES_PER_AGENT),
            ("incidents", "incarnation", INCIDENTS_PER_AGENT),
            ("treatments", "at", TREATMENTS_PER_AGENT),
            ("usage", "at", USAGE_PER_AGENT),
            ("handoffs", "began", HANDOFFS_PER_AGENT),
            ("markers", "at", MARKERS_PER_AGENT),
        )
        self._done_at = -RETENTION_INTERVAL

    def rest(self, connection: sqlite3.Connection, at: float, is_idle: IsIdle) -> None:
        """Go over all of it once in an hour, or on with it where somebody had come; `at` is the newest commit's time.

        Raises sqlite3.Error.
        """
        if at < self._done_at + RETENTION_INTERVAL:
            return
        before = at - self._keep_seconds
        if not _forget_old_entries(connection, before, is_idle):
            return
        for statement in (
            FORGET_LIVES, FORGET_INCIDENTS, FORGET_TREATMENTS, FORGET_USAGE, FORGET_HANDOFFS, FORGET_MARKERS,
        ):  # fmt: skip
            if not _repeat(connection, statement, (before, RETENTION_STEP), is_idle):
                return
        for table, order, most in self._bounds:
            if not _forget_surplus(connection, table, order, most, is_idle):
                return
        self._done_at = at


def _forget_old_entries(connection: sqlite3.Connection, before: float, is_idle: IsIdle) -> bool:
    while is_idle():
        (last,) = connection.execute(OLDEST_STEP, (RETENTION_STEP, before)).fetchone()
        if last is None:
            return True
        if connection.execute("DELETE FROM entries WHERE seq <= ?", (last,)).rowcount < RETENTION_STEP:
            return True
    return False


def _forget_surplus(connection: sqlite3.Connection, table: str, order: str, most: int, is_idle: IsIdle) -> bool:
    for (agent,) in connection.execute(TOO_MANY.format(table=table), (most,)).fetchall():
        newest = connection.execute(NEWEST_SURPLUS.format(table=table, order=order), (agent, most)).fetchone()
        statement = FORGET_SURPLUS.format(table=table, order=order)
        if newest and not _repeat(connection, statement, (agent, newest[0], RETENTION_STEP), is_idle):
            return False
    return True


def _repeat(connection: sqlite3.Connection, statement: str, values: tuple[object, ...], is_idle: IsIdle) -> bool:
    """Delete step by step; whether it is done."""
    while connection.execute(statement, values).rowcount == RETENTION_STEP:
        if not is_idle():
            return False
    return True
