"""Save before acting: batches go to the journal, and a journal that fails or is late makes the daemon degraded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import anyio

from phoenixd.errors import JournalFailed
from phoenixd.ports import Batch, Clock, Entry, Journal

LATE = 2.0
"""Seconds after which a commit that has not returned makes the daemon degraded."""
RETRY = 1.0
MERGE_AT = 64
MOST_ENTRIES = 20_000
"""Entries that wait for a failing journal; of more the oldest are given up, and that is an entry too."""


@dataclass(slots=True)
class _Ticket:
    done: anyio.Event
    seqs: tuple[int, ...] = ()


class Saver:
    """Commits batches in order, one at a time. While a commit fails, later batches merge behind it and wait.

    degraded: None, or why nothing new may be started: the journal's own words. Then commits may still succeed, on the
    space that was held back for orders of an operator's and freed by the first of them.
    """

    def __init__(self, journal: Journal, clock: Clock, on_change: Callable[[str | None], None]) -> None:
        self._journal = journal
        self._clock = clock
        self._on_change = on_change
        self._backlog: list[tuple[Batch, _Ticket]] = []
        self._wanted = anyio.Event()
        self._hurry = anyio.Event()
        self._is_committing = False
        self._fails = False
        self.degraded: str | None = None

    async def save(self, batch: Batch, *, is_order: bool = False) -> tuple[int, ...] | None:
        """Return the entries' row numbers once the batch is durable, or None when that did not happen in time.

        A batch that was late is not lost: it is committed as soon as the journal can. is_order: somebody waits for it,
        and for him the reserve is freed.
        """
        if self._fails:
            self._bound()
        ticket = _Ticket(anyio.Event())
        self._backlog.append((batch, ticket))
        self._wanted.set()
        if self._fails:
            if not (is_order and self._journal.release_reserve()):
                return None
            self._hurry.set()
        with anyio.move_on_after(LATE):
            await ticket.done.wait()
            return ticket.seqs
        self._fails = True
        self._degrade(self.degraded or "the journal has not answered for 2 s")
        return None

    async def run(self) -> None:
        """Commit for ever."""
        while True:
            with anyio.move_on_after(RETRY if self.degraded is not None else None):
                await self._wanted.wait()
            self._wanted = anyio.Event()
            while self._backlog:
                await self._commit()
            if self.degraded is not None:
                await self.look()

    async def _commit(self) -> None:
        taken = list(self._backlog)
        self._is_committing, self._hurry = True, anyio.Event()
        try:
            seqs = await self._journal.commit(_merge([batch for batch, _ in taken]))
        except JournalFailed as failure:
            self._is_committing = False
            self._fails = True
            self._degrade(failure.message)
            with anyio.move_on_after(RETRY):
                await self._hurry.wait()
            return
        self._is_committing = self._fails = False
        del self._backlog[: len(taken)]
        for batch, ticket in taken:
            ticket.seqs, seqs = seqs[: len(batch.entries)], seqs[len(batch.entries) :]
            ticket.done.set()

    async def look(self) -> None:
        """Ask whether there is room for what is to come: without it nothing new begins, with it all goes on."""
        why = await self._journal.shortage()
        if self._backlog or self._fails:
            return  # Asked again once it is known whether that can be saved.
        if why is not None:
            self._degrade(why)
        elif self.degraded is not None:
            self.degraded = None
            self._on_change(None)

    def _degrade(self, why: str) -> None:
        is_new = self.degraded is None
        self.degraded = why
        if is_new:
            self._on_change(why)

    def _bound(self) -> None:
        """Make one batch of all that wait, so that a journal that fails for days fills no memory."""
        if self._is_committing or len(self._backlog) < MERGE_AT:
            return
        merged = _merge([batch for batch, _ in self._backlog])
        surplus = len(merged.entries) - MOST_ENTRIES
        if surplus > 0:
            merged = replace(merged, entries=_without_oldest(merged.entries, surplus))
        # Nobody waits for any of these any more: they were answered when the journal failed.
        self._backlog[:] = [(merged, _Ticket(anyio.Event()))]


def _merge(batches: list[Batch]) -> Batch:
    """Many batches as one: all entries in order, and of each agent the newest snapshot."""
    if len(batches) == 1:
        return batches[0]
    changed = {agent.name: agent for batch in batches for agent in batch.changed}
    removed: dict[str, int] = {}
    for batch in batches:
        for agent in batch.changed:
            removed.pop(agent.name, None)
        removed.update(batch.removed)
    kept = tuple(agent for name, agent in changed.items() if name not in removed)
    entries = tuple(entry for batch in batches for entry in batch.entries)
    return replace(batches[-1], entries=entries, changed=kept, removed=tuple(removed.items()))


def _without_oldest(entries: tuple[Entry, ...], surplus: int) -> tuple[Entry, ...]:
    """The newest entries, behind one that says how many were given up."""
    first, given_up = entries[0], surplus + 1
    if first.event == "entries_given_up":
        given_up += int(first.detail["count"]) - 1
    gap = Entry(first.at, first.wall, None, 0, "entries_given_up", {"count": given_up}, weight="story")
    return (gap, *entries[surplus + 1 :])
