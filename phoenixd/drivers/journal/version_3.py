"""Version 3 of the journal: a table of how full contexts were."""

from __future__ import annotations

import sqlite3

from phoenixd.drivers.journal.tables import SECOND, THIRD


def migrate(connection: sqlite3.Connection) -> None:
    """Lead a journal of version 2 to version 3, within the transaction that is open; nothing is known of the past."""
    for name in THIRD.shape:
        if name not in SECOND.shape:
            connection.execute(THIRD.shape[name])
