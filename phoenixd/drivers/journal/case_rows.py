"""What a reader asks of Cases: every treatment, or all that is kept of one Case."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from phoenixd.drivers.journal.rows import Row, stored_incident, stored_treatment, unsealed
from phoenixd.ports.journal import KeptCase, KeptTreatment

MOST_TREATMENTS, MOST_INCIDENTS = 50_000, 1000
"""Rows that one read returns at most, the newest."""
TREATMENTS = "SELECT * FROM treatments ORDER BY failed DESC, case_id, number DESC LIMIT ?"
TREATMENTS_OF = "SELECT * FROM treatments WHERE case_id = ? ORDER BY number DESC LIMIT ?"
INCIDENTS_OF = "SELECT * FROM incidents WHERE case_id = ? ORDER BY opened DESC LIMIT ?"

Stored = TypeVar("Stored")


@dataclass(frozen=True, slots=True)
class Treatments:
    """Asks for every treatment."""

    def answer(self, connection: sqlite3.Connection) -> list[KeptTreatment]:
        """The oldest first; a row that is damaged is not believed."""
        rows = connection.execute(TREATMENTS, (MOST_TREATMENTS,)).fetchall()
        return list(_read("treatments", rows, stored_treatment))[::-1]


@dataclass(frozen=True, slots=True)
class OneCase:
    """Asks for what is kept of a Case."""

    case_id: str

    def answer(self, connection: sqlite3.Connection) -> KeptCase | None:
        """None where nothing is kept of it."""
        incidents = connection.execute(INCIDENTS_OF, (self.case_id, MOST_INCIDENTS)).fetchall()
        treatments = connection.execute(TREATMENTS_OF, (self.case_id, MOST_TREATMENTS)).fetchall()
        found = KeptCase(
            self.case_id,
            tuple(_read("incidents", incidents, stored_incident))[::-1],
            tuple(_read("treatments", treatments, stored_treatment))[::-1],
        )
        return found if found.incidents or found.treatments else None


def _read(table: str, rows: list[Any], stored: Callable[[Row], Stored]) -> Iterator[Stored]:
    for row in rows:
        if (columns := unsealed(table, row)) is not None:
            yield stored(columns)
