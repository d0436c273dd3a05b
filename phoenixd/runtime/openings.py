"""Which row of the journal opened the state that an agent is in: what a row of status gives as its reason's source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import structlog

from phoenixd.core.agent import Agent
from phoenixd.core.opened import opening
from phoenixd.errors import JournalFailed
from phoenixd.ports.journal import Journal, StoredEntry

LOOK_BACK = 2_000
"""Rows of the story in which a daemon that returns looks for them."""

log = structlog.get_logger()


def openings(entries: Sequence[StoredEntry], agents: Iterable[Agent]) -> Iterator[tuple[str, int]]:
    """The agents whose state one of these rows opened, and the row."""
    told: dict[str, list[StoredEntry]] = {}
    for stored in entries:
        if stored.entry.agent is not None and stored.entry.state:
            told.setdefault(stored.entry.agent, []).append(stored)
    for agent in agents if told else ():
        if (row := opening(agent, told.get(agent.name, ()))) is not None:
            yield agent.name, row.seq


async def recall(journal: Journal, agents: Iterable[Agent], opens: Callable[[str, int], None]) -> None:
    """Find them for agents whose state was opened before this daemon began, as far as it is not long ago."""
    try:
        entries = await journal.read(newest=True, story=True, limit=LOOK_BACK)
    except JournalFailed as failure:
        log.warning("openings_unknown", reason=failure.message)
        return
    for name, row in openings(entries, agents):
        opens(name, row)
