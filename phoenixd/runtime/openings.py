"""Which row of the journal opened the state that an agent is in: what a row of status gives as its reason's source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import structlog

from phoenixd.core.agent import Agent
from phoenixd.errors import JournalFailed
from phoenixd.ports.journal import Journal, StoredEntry

LOOK_BACK = 2_000
"""Rows of the story in which a daemon that returns looks for them."""

log = structlog.get_logger()


def openings(entries: Sequence[StoredEntry], agents: Iterable[Agent]) -> Iterator[tuple[str, int]]:
    """The agents whose state one of these rows opened, and the row."""
    told: dict[str, list[StoredEntry]] = {}
    for stored in entries:
        if stored.entry.agent is not None and stored.entry.state and stored.seq:
            told.setdefault(stored.entry.agent, []).append(stored)
    for agent in agents if told else ():
        words = {agent.state_name, agent.state.name}
        for stored in told.get(agent.name, ()):
            one = stored.entry
            # What the row says beyond it is when the next start is due.
            if one.reason.startswith(agent.reason) and one.state in words and one.wall >= agent.since_wall - 0.001:
                yield agent.name, stored.seq
                break


async def recall(journal: Journal, agents: Iterable[Agent], opens: Callable[[str, int], None]) -> None:
    """Find them for agents whose state was opened before this daemon began, as far as it is not long ago."""
    try:
        entries = await journal.read(newest=True, story=True, limit=LOOK_BACK)
    except JournalFailed as failure:
        log.warning("openings_unknown", reason=failure.message)
        return
    for name, row in openings(entries, agents):
        opens(name, row)
