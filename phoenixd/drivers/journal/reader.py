"""Reads of the journal: what can be asked, and the connection that only reads."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phoenixd.drivers.journal.case_rows import OneCase, Treatments
from phoenixd.drivers.journal.markers import MarksOf
from phoenixd.drivers.journal.past_lives import LivesOf
from phoenixd.drivers.journal.rows import DETAIL_MARK, past_handoff, stored_entry
from phoenixd.drivers.journal.samples import SamplesOf
from phoenixd.drivers.journal.schema import Damaged, connect, meta
from phoenixd.errors import JournalFailed, UnsafeFile
from phoenixd.ports.journal import StoredEntry

READ_LIMIT = 10_001
"""Entries that one read returns at most: 10,000 that are shown, and one that tells of more."""
NEWEST_HANDOFFS = "SELECT * FROM handoffs WHERE agent = ? ORDER BY began DESC LIMIT ?"


@dataclass(frozen=True, slots=True)
class Query:
    """What a reader asked for; see SqliteJournal.read."""

    agents: tuple[str, ...] | None
    after: int
    since_wall: float | None
    limit: int
    newest: bool
    story: bool = False
    before: int | None = None

    @property
    def statement(self) -> tuple[str, list[Any]]:
        conditions = ["seq > ?"]
        values: list[Any] = [self.after]
        if self.agents is not None:
            conditions.append(
                f"agent IN ({', '.join('?' * len(self.agents))})" if len(self.agents) != 1 else "agent = ?"
            )
            values += self.agents
        if self.since_wall is not None:
            conditions.append("wall >= ?")
            values.append(self.since_wall)
        if self.before is not None:
            conditions.append("seq < ?")
            values.append(self.before)
        if self.story:
            conditions.append("substr(readings, 1, ?) != ?")
            values += [len(DETAIL_MARK), DETAIL_MARK]
        order = "DESC" if self.newest else "ASC"
        where = " AND ".join(conditions)
        return f"SELECT * FROM entries WHERE {where} ORDER BY seq {order} LIMIT ?", [*values, self.limit]  # noqa: S608


@dataclass(frozen=True, slots=True)
class HandoffsOf:
    """The newest handoffs of a seat that are over."""

    seat: str
    limit: int


Question = Query | Treatments | OneCase | MarksOf | LivesOf | SamplesOf | HandoffsOf | str


class Reader:
    """The connection that only reads. Opened at the first question, and again after an error or a salvage."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._inode = -1

    def answer(self, questions: Sequence[Question]) -> list[Any]:
        """Entries for a query, the value of a fact for its key, rows of Cases and handoffs; raises JournalFailed."""
        try:
            connection = self._current()
            return [self._one(connection, question) for question in questions]
        except (sqlite3.Error, OSError, Damaged, UnsafeFile) as error:
            self.close()
            raise JournalFailed(f"the journal cannot be read: {error}") from error

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _one(self, connection: sqlite3.Connection, question: Question) -> Any:
        match question:
            case Query():
                return self._entries(connection, question)
            case Treatments() | OneCase() | MarksOf() | LivesOf() | SamplesOf():
                return question.answer(connection)
            case HandoffsOf(seat=seat, limit=limit):
                rows = connection.execute(NEWEST_HANDOFFS, (seat, limit)).fetchall()
                return [one for one in map(past_handoff, rows) if one is not None]
            case _:
                return meta(connection, question)

    def _entries(self, connection: sqlite3.Connection, query: Query) -> list[StoredEntry]:
        # Fetched whole: a cursor left open would keep the log from being emptied.
        rows = connection.execute(*query.statement).fetchall()
        entries = [entry for entry in map(stored_entry, rows) if entry is not None]
        return entries[::-1] if query.newest else entries

    def _current(self) -> sqlite3.Connection:
        inode = os.stat(self._path).st_ino
        if self._connection is None or inode != self._inode:
            self.close()
            self._connection, self._inode = connect(self._path, readonly=True), inode
        return self._connection
