"""What a reader asks of an agent's runs: each from its spawn to its end, from the table that keeps them."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from phoenixd.drivers.journal.rows import unsealed
from phoenixd.ports.journal import KeptLife

MOST = 1000
OF_AGENT = "SELECT * FROM lives WHERE agent IN ({names}) ORDER BY incarnation DESC LIMIT ?"
OF_SEAT = (
    "SELECT * FROM lives WHERE agent IN ({names})"
    " ORDER BY coalesce(started, ended, at) DESC, agent DESC, incarnation DESC LIMIT ?"
)
"""By when they began: a row is written anew with all that is learnt of its run, so when it was says nothing."""


@dataclass(frozen=True, slots=True)
class LivesOf:
    """Asks for the newest runs. names: of the agent, or of all generations of its seat."""

    names: tuple[str, ...]
    limit: int

    def answer(self, connection: sqlite3.Connection) -> list[KeptLife]:
        """The newest first; a row that is damaged is not believed."""
        statement = (OF_AGENT if len(self.names) == 1 else OF_SEAT).format(names=", ".join("?" * len(self.names)))
        rows = connection.execute(statement, (*self.names, min(self.limit, MOST))).fetchall()
        found = []
        for row in rows:
            if (columns := unsealed("lives", row)) is not None:
                agent, incarnation, _, *rest = columns
                found.append(KeptLife(agent, incarnation, *rest))
        return found
