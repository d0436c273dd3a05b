"""Save before acting: batches go to the journal in order, and what is known of its disk is kept by the way.

What follows from a failing or a slow disk is decided in core.durability; here it is carried out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import anyio

from phoenixd.core.durability import LATE, Durability
from phoenixd.core.moment import Instant
from phoenixd.errors import JournalFailed
from phoenixd.ports import Clock
from phoenixd.ports.journal import Batch, Entry, Journal

RETRY = 1.0
MERGE_AT = 64
MOST_ENTRIES = 20_000
"""Entries that wait for a failing journal; of more the oldest are given up, and that is an entry too."""
GIVEN_UP = "entries_given_up"
MOST_INCIDENTS = 200
"""Incidents that wait likewise; each stands in its file all the same."""
MOST_TREATMENTS = 2000
"""Rows of treatments that wait likewise: what is lost of them is never counted as held."""
MOST_SAMPLES = 2000
"""Samples of contexts that wait likewise: no decision rests on them."""


@dataclass(slots=True)
class Ticket:
    """A batch that was handed in. seqs: the row numbers of its entries once it is durable, None until then.

    A row that was given up meanwhile has the number 0.
    """

    entries: int
    seqs: tuple[int, ...] | None = None
    done: anyio.Event = field(default_factory=anyio.Event)
    is_late: bool = False
    """Whether nobody waits for `done` any more."""
    is_forgotten: bool = False
    """Whether nothing hangs on it any more."""


class Saver:
    """Commits batches in order, one at a time. While a commit is under way or fails, later batches merge behind it.

    known: what is known of the disk.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        on_change: Callable[[Durability, Instant], None],
        probe: Callable[[], Batch],
        on_landed: Callable[[int], None] = lambda newest: None,
        on_failed: Callable[[], None] = lambda: None,
        known: Durability | None = None,
    ) -> None:
        """on_change: given what was known before, whenever that changes. probe: the newest snapshot without news.

        on_landed: late batches became durable, the newest of their rows has that number. on_failed: one was refused.
        """
        self.known = known if known is not None else Durability()
        self._journal = journal
        self._clock = clock
        self._on_change = on_change
        self._probe = probe
        self._on_landed = on_landed
        self._on_failed = on_failed
        self._backlog: list[tuple[Batch, list[Ticket]]] = []
        self._wanted = anyio.Event()
        self._hurry = anyio.Event()
        self._asleep: anyio.CancelScope | None = None
        self._until = math.inf

    @property
    def is_behind(self) -> bool:
        """Whether something was handed in that is not durable yet."""
        return bool(self._backlog)

    async def save(self, batch: Batch, *, is_order: bool = False, begun: Callable[[], None] = lambda: None) -> Ticket:
        """Hand a batch in, and wait until it is durable; for no longer than a commit may take before it is late.

        What was late is not lost: it is committed as soon as the journal can. begun: called when it was handed in; the
        tasks that it starts come behind the one that gives it to the journal. is_order: an operator waits for it, and
        the reserve is freed for that.
        """
        if self.known.fault:
            self._bound()
        ticket = Ticket(len(batch.entries))
        self._backlog.append((batch, [ticket]))
        self._wanted.set()
        begun()
        if self._is_worth_waiting(is_order):
            with anyio.move_on_after(LATE):
                await ticket.done.wait()
            # What was refused is no sign of a slow disk: one cause is told once.
            if ticket.seqs is None and not self.known.fault:
                self._learn_of(self.known.missed)
        ticket.is_late = ticket.seqs is None
        return ticket

    def _is_worth_waiting(self, is_order: bool) -> bool:
        if not self.known.fault:
            return not self.known.is_late(self._clock.at())
        if not (is_order and self._journal.release_reserve()):
            return False
        self._hurry.set()
        return True

    async def run(self) -> None:
        """Commit for ever, and notice what follows from mere time."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch)
            while True:
                with anyio.move_on_after(RETRY if self.known.shortage else None):
                    await self._wanted.wait()
                self._wanted = anyio.Event()
                if self.known.shortage:
                    await self.look()
                while self._backlog:
                    await self._commit()
                    if self.known.shortage:
                        await self.look()

    async def flush(self) -> None:
        """Return once all that was handed in so far is durable, by way of a try that is made at once."""
        self._hurry.set()
        for ticket in [ticket for _, tickets in self._backlog for ticket in tickets]:
            await ticket.done.wait()

    @property
    def unsaved(self) -> tuple[Entry, ...]:
        """The rows that were handed in and are not known to be durable."""
        return tuple(entry for batch, _ in self._backlog for entry in batch.entries)

    async def look(self) -> None:
        """Ask whether there is room for what is to come: without it nothing new begins, with it all goes on."""
        why = await self._journal.shortage()
        if not self.known.fault:
            self._learn_of(lambda now: self.known.room(why, now))

    async def _commit(self) -> None:
        taken = list(self._backlog)
        self._learn_of(self.known.begun)
        merged = _merge([batch for batch, _ in taken])
        try:
            seqs = await self._journal.commit(merged)
        except JournalFailed as failure:
            why = failure.message
            self._learn_of(lambda now: self.known.failed(why, now))
            self._on_failed()
            with anyio.move_on_after(RETRY):
                await self._hurry.wait()
            self._hurry = anyio.Event()
            return
        del self._backlog[: len(taken)]
        newest = max(seqs, default=0)
        if merged.entries and merged.entries[0].event == GIVEN_UP:
            seqs = seqs[1:]  # Of no ticket: it tells of those that were given up.
        # From the newest back: where entries were given up, those that are left are the last ones.
        for ticket in (one for _, tickets in reversed(taken) for one in reversed(tickets)):
            first = max(0, len(seqs) - ticket.entries)
            ticket.seqs = (0,) * (ticket.entries - (len(seqs) - first)) + seqs[first:]
            seqs = seqs[:first]
            ticket.done.set()
        self._learn_of(self.known.landed)
        if any(ticket.is_late for _, tickets in taken for ticket in tickets):
            self._on_landed(newest)

    async def _watch(self) -> None:
        """Notice a commit that is late and an episode that is over, and see during one how the disk is now."""
        while True:
            now = self._clock.at()
            self._learn(self.known.passed(now), now)
            if self.known.wants_probe(now) and not self._backlog:
                self._backlog.append((self._probe(), []))
                self._wanted.set()
            self._until = self.known.due(now) or math.inf
            with anyio.CancelScope() as self._asleep:
                await (self._clock.sleep_until(self._until) if self._until < math.inf else anyio.sleep_forever())
            self._asleep = None

    def _learn_of(self, happens: Callable[[Instant], Durability]) -> None:
        now = self._clock.at()
        self._learn(happens(now), now)

    def _learn(self, known: Durability, now: Instant) -> None:
        before, self.known = self.known, known
        due = known.due(now)
        # Sleeping too short is harmless, and cheaper than a sleep for each commit.
        if due is not None and due < self._until and self._asleep is not None:
            self._asleep.cancel()
        self._on_change(before, now)

    def _bound(self) -> None:
        """Make one batch of all that wait, so that a journal that fails for days fills no memory."""
        if self.known.since is not None or len(self._backlog) < MERGE_AT:
            return
        merged = _merge([batch for batch, _ in self._backlog])
        surplus = len(merged.entries) - MOST_ENTRIES
        if surplus > 0:
            merged = replace(merged, entries=_without_oldest(merged.entries, surplus))
        self._backlog[:] = [(merged, _remembered([ticket for _, tickets in self._backlog for ticket in tickets]))]


def _remembered(tickets: Sequence[Ticket]) -> list[Ticket]:
    """The tickets on which something hangs, in order, and one for all those in between."""
    kept: list[Ticket] = []
    for ticket in tickets:
        if kept and ticket.is_forgotten and kept[-1].is_forgotten:
            kept[-1].entries += ticket.entries
        else:
            kept.append(ticket)
    return kept


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
    entries = tuple(chain.from_iterable(batch.entries for batch in batches))
    after = max(batch.after_row for batch in batches)
    incidents = tuple(incident for batch in batches for incident in batch.incidents)[-MOST_INCIDENTS:]
    treatments = tuple(one for batch in batches for one in batch.treatments)[-MOST_TREATMENTS:]
    usage = tuple(sample for batch in batches for sample in batch.usage)[-MOST_SAMPLES:]
    return replace(
        batches[-1],
        entries=entries,
        changed=kept,
        removed=tuple(removed.items()),
        after_row=after,
        incidents=incidents,
        treatments=treatments,
        usage=usage,
    )


def _without_oldest(entries: tuple[Entry, ...], surplus: int) -> tuple[Entry, ...]:
    """The newest entries, behind one that says how many were given up."""
    first, given_up = entries[0], surplus + 1
    if first.event == GIVEN_UP:
        given_up += int(first.detail["count"]) - 1
    gap = Entry(first.at, first.wall, None, 0, GIVEN_UP, {"count": given_up}, weight="story")
    return (gap, *entries[surplus + 1 :])
