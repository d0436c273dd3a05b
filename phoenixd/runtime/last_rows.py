"""The newest rows of the journal, which an earlier daemon may not have told of in its agents' documents."""

from __future__ import annotations

import structlog

from phoenixd.errors import JournalFailed
from phoenixd.ports.journal import Entry, Journal

LAST_ROWS = 1000
"""This many: documents follow a decision by half a second, and in a flood by more, or until their disks take it."""

log = structlog.get_logger()


async def newest_rows(journal: Journal) -> list[Entry]:
    """The rows, the oldest first; none where the journal cannot be read now: no agent waits for that."""
    try:
        return [row.entry for row in await journal.read(newest=True, limit=LAST_ROWS)]
    except JournalFailed as failure:
        log.warning("last_rows_unknown", reason=failure.message)
        return []
