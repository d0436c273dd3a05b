"""Version 4 of the journal: handoffs that are over, treatments, markers, and incidents that know their Case."""

from __future__ import annotations

import sqlite3

from phoenixd.drivers.journal.rows import sealed, unsealed
from phoenixd.drivers.journal.tables import FOURTH, THIRD


def migrate(connection: sqlite3.Connection) -> None:
    """Lead a journal of version 3 to version 4, within the transaction that is open; nothing is known of the past."""
    known = connection.execute("SELECT * FROM incidents").fetchall()
    connection.execute("DROP TABLE incidents")
    for name, statement in FOURTH.shape.items():
        # Its indexes went with the table.
        if name not in THIRD.shape or statement != THIRD.shape[name] or name == "incidents_by_agent":
            connection.execute(statement)
    for row in known:
        if (columns := unsealed("incidents", row)) is not None:
            kept = sealed("incidents", *columns, "", None, "", "")
            connection.execute(f"INSERT INTO incidents VALUES ({', '.join('?' * len(kept))})", kept)  # noqa: S608
