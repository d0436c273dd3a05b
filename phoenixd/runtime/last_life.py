"""What a daemon left: since when nobody watched, and the newest rows, which its agents' documents may not tell of yet.

A daemon that is told to end says so in the journal, behind its last row.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import structlog

from phoenixd.errors import JournalFailed
from phoenixd.ports.journal import Entry, Journal

END_KEY = "daemon_end"
LAST_ROWS = 1000
"""This many: documents follow a decision by half a second, and in a flood by more, or until their disks take it."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class LastLife:
    """until: when (wall) the daemon before ended, or was heard last. ended: by what it was told to end, else empty."""

    until: float
    ended: str = ""


async def remember_end(journal: Journal, wall: float, why: str) -> None:
    """Say that this daemon ends as it was told to. What cannot be written now makes it one that died."""
    try:
        newest = await journal.read(newest=True, limit=1)
        if newest:
            await journal.remember(END_KEY, json.dumps({"row": newest[-1].seq, "wall": wall, "why": why}))
    except JournalFailed as failure:
        log.warning("end_not_remembered", reason=failure.message)


async def last_life(journal: Journal) -> LastLife | None:
    """What is known of the daemon before; None where there was none, or the journal cannot be read now."""
    try:
        newest, kept = await journal.read(newest=True, limit=1), await journal.recall(END_KEY)
    except JournalFailed as failure:
        log.warning("last_life_unknown", reason=failure.message)
        return None
    if not newest:
        return None
    end = json.loads(kept) if kept is not None else {}
    # Where rows stand behind it, another daemon has lived since that end.
    if end.get("row") == newest[-1].seq:
        return LastLife(end["wall"], end["why"])
    return LastLife(newest[-1].entry.wall)


async def newest_rows(journal: Journal) -> list[Entry]:
    """The rows, the oldest first; none where the journal cannot be read now: no agent waits for that."""
    try:
        return [row.entry for row in await journal.read(newest=True, limit=LAST_ROWS)]
    except JournalFailed as failure:
        log.warning("last_rows_unknown", reason=failure.message)
        return []
