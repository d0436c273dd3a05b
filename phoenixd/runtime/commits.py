"""Turns are made durable here, and then carried out: commits that are late or fail, and what is told of that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import anyio
import structlog
from anyio.abc import TaskGroup

from phoenixd.core.actions import Action
from phoenixd.core.alerts import DEGRADED, SLOW_DISK, find
from phoenixd.core.decision import Refusal
from phoenixd.core.durability import LATE, Durability, told
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import TroubleSeen
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import Instant, Moment
from phoenixd.ports import Clock
from phoenixd.ports.journal import Batch, Entry, Journal, StoredEntry
from phoenixd.runtime.dues import Due, Dues
from phoenixd.runtime.saving import Saver
from phoenixd.runtime.turn import Turn

LAST_TRY = 3.0
"""Seconds that the end gives a journal that fails: time for one more try."""

Remember = Callable[[Batch, bool, bool], anyio.Event | None]
"""A batch, whether it holds an order of an operator's, and whether it was saved: kept outside the journal as well.

Returns what is set once that is durable; None where nothing has to be.
"""

log = structlog.get_logger()


class Commits:
    """Saves each turn in one commit, and acts on it when it is there.

    fleet: as it was between two turns, for in the middle of one it holds what has no rows yet. tell: takes what is
    heard of the disk. changed: called when starts have to wait, or can go on.
    """

    def __init__(
        self,
        fleet: Fleet,
        clock: Clock,
        journal: Journal,
        tell: Callable[[Event], None],
        changed: Callable[[], None],
        on_degraded: Callable[[str | None], object],
    ) -> None:
        self.fleet = fleet
        self._clock, self._tell, self._changed, self._on_degraded = clock, tell, changed, on_degraded
        self.dispatch: Callable[[Action], None] = lambda action: None
        self.remember: Remember = lambda batch, is_order, is_saved: None
        self.prepare: Callable[[Sequence[Action], int], None] = lambda actions, epoch: None
        self.on_saved: Callable[[int], None] = lambda newest: None
        self.halted = ""
        """Why nothing new is started now."""
        self._dues = Dues(
            lambda action: self.dispatch(action), lambda: bool(self.saver.known.withholds), self._settle_after
        )
        self._tasks: TaskGroup | None = None
        slow, failing = find(fleet.alerts, SLOW_DISK), find(fleet.alerts, DEGRADED)
        known = Durability.inherited(slow.text if slow else "", failing.text if failing else "", clock.at())
        self.saver = Saver(journal, clock, self._saving_changed, self.probe, self._landed, self._refuse, known)

    @property
    def degraded(self) -> str | None:
        """What is or was lately wrong with saving decisions, or None."""
        return self.saver.known.trouble or self.halted or None

    def run_in(self, tasks: TaskGroup) -> None:
        """Save from now on; what is settled late has a task of its own."""
        self._tasks = tasks
        tasks.start_soon(self.saver.run)

    async def take(self, turn: Turn, fleet: Fleet, now: Moment) -> list[StoredEntry]:
        """Save a turn in one commit, then act on it, then answer; returns its rows with their numbers.

        Where the commit is late, what ends processes or tells people goes on; all else follows when it is there.
        """
        ticket, keep = None, None
        if turn.is_to_be_saved:
            batch = turn.batch(fleet, now)
            ticket = await self.saver.save(batch, is_order=turn.ends, begun=lambda: self._begin(turn, batch.epoch))
            if ticket.seqs is None:
                # What agents are wanted to be stands outside the journal also where that is late.
                self.remember(batch, turn.orders, False)
                batch = replace(batch, entries=(), changed=(), removed=(), incidents=(), treatments=(), usage=())
            keep = partial(self.remember, batch, turn.orders, True)
        due = Due(ticket, turn.actions, turn.receipts, keep)
        for done, refusal in turn.answers:
            if refusal is None:
                due.answers.append(done)
            else:
                done(refusal)
        self._dues.add(due)
        if due.is_being_kept:
            with anyio.move_on_after(LATE):
                await due.kept.wait()
            self._dues.settle()
        fails = bool(self.saver.known.fault)
        if not self._dues.go_on_without(due, forget=fails) and fails:
            self._refuse()
        seqs = ticket.seqs if ticket is not None and ticket.seqs is not None else (0,) * len(turn.entries)
        return [StoredEntry(seq, entry) for seq, entry in zip(seqs, turn.entries, strict=True)]

    async def finish(self, patience: float, decided: anyio.Event) -> tuple[Entry, ...]:
        """Wait until the last turn, after which `decided` is set, is durable and under way; returns what may not be."""
        with anyio.move_on_after(min(patience, LAST_TRY) if self.saver.known.fault else patience):
            await decided.wait()
            await self.saver.flush()
            await self._dues.carried_out()
        return self.saver.unsaved

    def probe(self) -> Batch:
        """The newest snapshot once more: as much work for the disk as a decision, and nothing new in the journal."""
        return Turn().batch(self.fleet, self._clock.now())

    def _begin(self, turn: Turn, epoch: int) -> None:
        """While a turn is being saved: have prepared what it orders. Of a person's order nothing is begun before."""
        if turn.actions and not turn.orders:
            self.prepare(turn.actions, epoch)

    def _settle_after(self, kept: anyio.Event) -> None:
        async def settle() -> None:
            await kept.wait()
            self._dues.settle()

        if self._tasks is not None:
            self._tasks.start_soon(settle)

    def _landed(self, newest: int) -> None:
        self._dues.settle()
        self.on_saved(newest)

    def _refuse(self) -> None:
        """A commit failed: each request that waits for it is answered so."""
        refusal = Refusal(
            "conflict",
            f"the journal fails ({self.degraded}): what ends processes is being done, what starts something waits "
            "until it works again; if the daemon is restarted before that, it knows of this request only whether the "
            "agent is to run, and that only where the agent's own directory can be written",
            "phoenixctl doctor",
        )
        self._dues.refuse(refusal)

    def _saving_changed(self, before: Durability, at: Instant) -> None:
        known = self.saver.known
        halts = known.halts(at)
        if halts != self.halted:
            self.halted = halts
            self._changed()
        for event in told(before, known):
            if isinstance(event, TroubleSeen):
                log.error("degraded", kind=event.kind, reason=event.text)
            else:
                log.warning("journal_recovered", kind=event.kind, reason=event.why, withheld=self._dues.withheld)
            self._tell(event)
        if known.trouble != before.trouble:
            self._on_degraded(known.trouble or None)
        if not known.withholds:
            self._dues.release()
