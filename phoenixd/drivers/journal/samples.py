"""What a reader asks of how full agents' contexts were, from the table of samples."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from phoenixd.core.meter.reading import UsageSample
from phoenixd.drivers.journal.rows import unsealed

MOST = 10_000
NEWEST = "SELECT * FROM usage WHERE agent IN ({names}) AND wall >= ? ORDER BY at DESC, rowid DESC LIMIT ?"


@dataclass(frozen=True, slots=True)
class SamplesOf:
    """Asks for the newest samples. names: of the agent, or of all generations of its seat; since: wall seconds."""

    names: tuple[str, ...]
    since: float | None
    limit: int

    def answer(self, connection: sqlite3.Connection) -> list[UsageSample]:
        """The oldest of them first; a row that is damaged is not believed."""
        statement = NEWEST.format(names=", ".join("?" * len(self.names)))
        asked = (*self.names, self.since or 0.0, min(self.limit, MOST))
        found = []
        for row in connection.execute(statement, asked).fetchall():
            if (columns := unsealed("usage", row)) is not None:
                agent, incarnation, session_id, _, wall, tokens, limit, source = columns
                found.append(UsageSample(agent, incarnation, session_id, tokens, limit, source, wall))
        return found[::-1]
