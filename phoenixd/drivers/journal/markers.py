"""What a reader asks of agents' markers: what became of them, from the table that never holds a code."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from phoenixd.drivers.journal.rows import unsealed
from phoenixd.ports.journal import KeptMark

MOST = 1000
NEWEST = "SELECT * FROM markers WHERE agent IN ({names}) ORDER BY at DESC, rowid DESC LIMIT ?"


@dataclass(frozen=True, slots=True)
class MarksOf:
    """Asks for the newest of what became of a marker. names: of the agent, or of all generations of its seat."""

    names: tuple[str, ...]
    limit: int

    def answer(self, connection: sqlite3.Connection) -> list[KeptMark]:
        """The newest first; a row that is damaged is not believed."""
        statement = NEWEST.format(names=", ".join("?" * len(self.names)))
        rows = connection.execute(statement, (*self.names, min(self.limit, MOST))).fetchall()
        found = []
        for row in rows:
            if (columns := unsealed("markers", row)) is not None:
                agent, incarnation, _, wall, what, verdict, number, step, why, tokens = columns
                found.append(KeptMark(agent, incarnation, wall, what, verdict, number, step, why, tokens))
        return found
