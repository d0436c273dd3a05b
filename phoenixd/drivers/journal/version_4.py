"""Version 4 of the journal: a table of handoffs that are over."""

from __future__ import annotations

import sqlite3

from phoenixd.drivers.journal.tables import FOURTH, THIRD


def migrate(connection: sqlite3.Connection) -> None:
    """Lead a journal of version 3 to version 4, within the transaction that is open; nothing is known of the past."""
    for name in FOURTH.shape:
        if name not in THIRD.shape:
            connection.execute(FOURTH.shape[name])
