"""Save before acting: batches go to the journal, and a journal that fails or is late makes the daemon degraded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import anyio

from phoenixd.errors import JournalFailed
from phoenixd.ports import Batch, Clock, Journal

LATE = 2.0
"""Seconds after which a commit that has not returned makes the daemon degraded."""
RETRY = 1.0


@dataclass(slots=True)
class _Ticket:
    done: anyio.Event
    seqs: tuple[int, ...] = ()


class Saver:
    """Commits batches in order, one at a time. While a commit fails, later batches merge behind it and wait.

    degraded: None, or why nothing new may be started: the journal's own words.
    """

    def __init__(self, journal: Journal, clock: Clock, on_change: Callable[[str | None], None]) -> None:
        self._journal = journal
        self._clock = clock
        self._on_change = on_change
        self._backlog: list[tuple[Batch, _Ticket]] = []
        self._wanted = anyio.Event()
        self.degraded: str | None = None

    async def save(self, batch: Batch) -> tuple[int, ...] | None:
        """Return the entries' row numbers once the batch is durable, or None when that did not happen in time.

        A batch that was late is not lost: it is committed as soon as the journal can.
        """
        ticket = _Ticket(anyio.Event())
        self._backlog.append((batch, ticket))
        self._wanted.set()
        if self.degraded is not None:
            return None
        with anyio.move_on_after(LATE):
            await ticket.done.wait()
            return ticket.seqs
        self._degrade("the journal has not answered for 2 s")
        return None

    async def run(self) -> None:
        """Commit for ever."""
        while True:
            await self._wanted.wait()
            self._wanted = anyio.Event()
            while self._backlog:
                taken = list(self._backlog)
                try:
                    seqs = await self._journal.commit(_merge([batch for batch, _ in taken]))
                except JournalFailed as failure:
                    self._degrade(failure.message)
                    await self._clock.sleep_until(self._clock.now().at + RETRY)
                    continue
                del self._backlog[: len(taken)]
                for batch, ticket in taken:
                    ticket.seqs, seqs = seqs[: len(batch.entries)], seqs[len(batch.entries) :]
                    ticket.done.set()
            if self.degraded is not None:
                self.degraded = None
                self._on_change(None)

    def _degrade(self, why: str) -> None:
        if self.degraded is None:
            self.degraded = why
            self._on_change(why)


def _merge(batches: list[Batch]) -> Batch:
    """Many batches as one: all entries in order, and of each agent the newest snapshot."""
    if len(batches) == 1:
        return batches[0]
    changed = {agent.name: agent for batch in batches for agent in batch.changed}
    removed: dict[str, None] = {}
    for batch in batches:
        for agent in batch.changed:
            removed.pop(agent.name, None)
        removed.update(dict.fromkeys(batch.removed))
    kept = tuple(agent for name, agent in changed.items() if name not in removed)
    entries = tuple(entry for batch in batches for entry in batch.entries)
    return replace(batches[-1], entries=entries, changed=kept, removed=tuple(removed))
