"""The one loop: drain what waits, step it all, commit once, then dispatch. Only here does the fleet change."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import anyio
import structlog
from anyio.abc import TaskGroup
from anyio.lowlevel import cancel_shielded_checkpoint, checkpoint

from phoenixd.core.actions import Action
from phoenixd.core.agent import Agent
from phoenixd.core.alerts import DEGRADED, SLOW_DISK, find
from phoenixd.core.behind.epochs import ORDERS
from phoenixd.core.behind.plan import first_row_after
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.decision import Refusal
from phoenixd.core.durability import LATE, Durability, told
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import EvidenceSeen, UsageSeen
from phoenixd.core.events.fleet import JournalBehind, SavingHalted, SavingResumed, Tick, TroubleSeen
from phoenixd.core.events.orders import AgentWithdrawn, StartRequested, StopRequested
from phoenixd.core.fleet import Fleet
from phoenixd.core.hooks import EVIDENCE, Hook
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.step import as_heard, step
from phoenixd.documents.redact import redact
from phoenixd.ports import Clock
from phoenixd.ports.journal import Batch, Entry, Journal, StoredEntry
from phoenixd.runtime import cases
from phoenixd.runtime.alarm import Alarm
from phoenixd.runtime.cleaning import Clean, cleaned
from phoenixd.runtime.dues import Due, Dues
from phoenixd.runtime.saving import Saver
from phoenixd.runtime.turn import Turn

TURN_LIMIT = 1000
"""Events that are taken into one commit at most."""
TURN_SPAN = 0.01
"""Seconds for which a turn steps at most: of a hundred deaths at once the first ones are acted upon meanwhile, and an
order that comes now waits no longer than that. Requests that belong together are never parted."""
STEP_SPAN = 0.0005
"""Seconds for which it steps before all else in the loop has its turn: on its way an order passes through the loop a
dozen times. An order that is there by then ends the turn."""
EVIDENCE_LIMIT = 5000
"""Waiting events beyond which mere evidence is dropped: the next one tells the same."""
CROWDED, ROOMY = 100, 50
"""More waiting events than this, and the shims are not read until so few are left: a shim keeps what decides and merges
what is mere evidence, which this queue cannot; and what stands in the queue waits for all of it."""
OF_FLOODS = (Hook, EvidenceSeen, UsageSeen)
MANY, SPACING = 5, 0.05
"""A turn that stepped so many of these is one of a flood: after it, others come together for so many seconds, or until
it is crowded. A turn for each few costs a commit each, and the processors that agents and orders need."""
LONGEST_HOLD = 1.0
"""Seconds after which each shim is read once in any case, however much waits: what one of them says ends a wait."""
LONGEST_PAUSE = 15.0
"""Seconds between two turns at most: an idle loop proves so that it turns."""

LAST_TRY = 3.0
"""Seconds that the end gives a journal that fails: time for one more try."""

Remember = Callable[[Batch, bool, bool], anyio.Event | None]
"""A batch, whether it holds an order of an operator's, and whether it was saved: kept outside the journal as well.

Returns what is set once that is durable; None where nothing has to be.
"""

log = structlog.get_logger()


class Listener(Protocol):
    """Somebody who is told of every turn after it was saved: entries with their row numbers, and changed agents."""

    def __call__(self, entries: Sequence[StoredEntry], changed: Sequence[Agent]) -> None: ...


@dataclass(slots=True)
class _Waiting:
    event: Event
    done: Callable[[Refusal | None], None] | None = None
    saved: Callable[[], None] | None = None


class Supervisor:
    """Holds the fleet. Events come in by `tell` and `ask`, actions go out through `dispatch` once they are saved."""

    def __init__(
        self,
        fleet: Fleet,
        clock: Clock,
        journal: Journal,
        dispatch: Callable[[Action], None] = lambda action: None,
        listeners: Sequence[Listener] = (),
        on_turn: Callable[[], object] = lambda: None,
        on_degraded: Callable[[str | None], object] = lambda why: None,
        longest_pause: float = LONGEST_PAUSE,
        clean: Clean = lambda agent, text: redact(text),
        on_saved: Callable[[int], None] = lambda newest: None,
        remember: Remember = lambda batch, is_order, is_saved: None,
    ) -> None:
        """on_saved: called with the newest row number when turns became durable after their listeners were told.

        longest_pause: seconds after which `on_turn` is called at the latest, however little happens.

        clean: applied to the words of others in every event that is told.
        remember: called with each batch after its commit and before its first action.
        """
        self.fleet = fleet
        self._between = fleet
        """The fleet as it was between two turns: in the middle of one it holds what has no rows yet."""
        self._clock = clock
        self._listeners = list(listeners)
        self._on_turn = on_turn
        self._on_degraded = on_degraded
        self._clean = clean
        self._remember = remember
        self._on_crowded: Callable[[bool], None] = lambda crowded: None
        self._prepare: Callable[[Sequence[Action], int], None] = lambda actions, epoch: None
        self._on_long_crowded: Callable[[], None] = lambda: None
        self._is_crowded, self._crowded_at = False, 0.0
        self._first: deque[_Waiting] = deque()
        self._ordered_last = False
        """The turn before was one of those that go first."""
        self._queue: deque[_Waiting] = deque()
        self._arrived = anyio.Event()
        self._is_flooded, self._turned_at = False, 0.0
        self._leaves_floods = False
        self._enough = anyio.Event()
        """Set once something waits that is no hook, or so much that it is crowded."""
        self._on_saved = on_saved
        self._dispatch = dispatch
        self._dues = Dues(
            lambda action: self._dispatch(action), lambda: bool(self.saver.known.withholds), self._settle_after
        )
        self._tasks: TaskGroup | None = None
        self._halted = ""
        self._ending = anyio.Event()
        self._turned_last = anyio.Event()
        slow, failing = find(fleet.alerts, SLOW_DISK), find(fleet.alerts, DEGRADED)
        known = Durability.inherited(slow.text if slow else "", failing.text if failing else "", clock.at())
        self.saver = Saver(journal, clock, self._saving_changed, self._probe, self._landed, self._refuse, known)
        self.alarm = Alarm(clock, lambda: self.tell(Tick()), longest_pause)

    @property
    def degraded(self) -> str | None:
        """What is or was lately wrong with saving decisions, or None."""
        return self.saver.known.trouble or self._halted or None

    @property
    def halted(self) -> str | None:
        """Why nothing new is started now, or None."""
        return self._halted or None

    def connect(
        self,
        *,
        dispatch: Callable[[Action], None],
        clean: Clean,
        remember: Remember,
        listener: Listener,
        on_saved: Callable[[int], None],
        on_crowded: Callable[[bool], None],
        on_long_crowded: Callable[[], None],
        prepare: Callable[[Sequence[Action], int], None] = lambda actions, epoch: None,
    ) -> None:
        """Speak from now on to parts that were made after it; to be called before it runs, and before it hears."""
        self._dispatch, self._clean, self._remember, self._on_saved = dispatch, clean, remember, on_saved
        self._on_crowded, self._on_long_crowded, self._prepare = on_crowded, on_long_crowded, prepare
        self._listeners.append(listener)

    def find(self, name: str) -> Agent | None:
        return self.fleet.agents.get(name)

    def everybody(self) -> tuple[Agent, ...]:
        return tuple(self.fleet.agents.values())

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Tell `listener` of every saved turn from now on; returns the way to leave."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def tell(self, event: Event, saved: Callable[[], None] | None = None) -> None:
        """Queue an event; `saved` is called once it is durable, be that much later, and never before."""
        if saved is None and len(self._queue) > EVIDENCE_LIMIT and _is_evidence(event):
            return
        self._put(_Waiting(cleaned(event, self._clean), saved=saved))

    def _put(self, waiting: _Waiting, *, first: bool = False, alone: bool = False) -> None:
        """alone: it belongs together with no other."""
        if first:
            self._first.append(waiting)
        elif alone and isinstance(waiting.event, StartRequested):
            self._queue.insert(self._place_of_a_start(), waiting)
        else:
            self._queue.append(waiting)
        self._arrived.set()
        if first or not isinstance(waiting.event, OF_FLOODS):
            self._enough.set()
        self._tell_how_crowded()

    def _place_of_a_start(self) -> int:
        """Behind all that may have ended or begun a run, and before signs of life, which do neither."""
        place = len(self._queue)
        while place and self._queue[place - 1].done is None and isinstance(self._queue[place - 1].event, OF_FLOODS):
            place -= 1
        return place

    def begin_with(self, event: Event) -> None:
        """Queue an event before all others: what has to be decided before anything else is."""
        self._first.appendleft(_Waiting(event))
        self._arrived.set()
        self._enough.set()

    def _tell_how_crowded(self) -> None:
        is_crowded = len(self._queue) > (ROOMY if self._is_crowded else CROWDED)
        if is_crowded and self._is_crowded and self._clock.at() - self._crowded_at > LONGEST_HOLD:
            self._crowded_at = self._clock.at()
            self._on_long_crowded()
        if is_crowded != self._is_crowded:
            self._is_crowded, self._crowded_at = is_crowded, self._clock.at()
            self._enough.set()
            self._on_crowded(is_crowded)

    def leave_floods(self, left: bool) -> None:
        """Have what agents tell by the thousand wait, or go on: an operator is on the way with an order."""
        self._leaves_floods = left
        if not left:
            self._enough.set()

    async def order(self, event: Event) -> Refusal | None:
        """Ask before all that was told and waits: a person's order does not stand behind a flood of hooks.

        Only for what is as true whatever it overtakes, and what nobody has just told something for. A start is not: one
        that overtakes the end of a run would find it running. So `ask` puts it before hooks alone, which end no run.
        """
        return (await self.ask_all([event], first=True))[0]

    async def ask(self, event: Event) -> Refusal | None:
        """Queue a request and return its refusal, or None once it is durable and under way."""
        return (await self.ask_all([event]))[0]

    async def ask_all(self, events: Sequence[Event], *, first: bool = False) -> list[Refusal | None]:
        """Queue requests that belong together, for one commit, and return what became of each."""
        answered = anyio.Event()
        answers: dict[int, Refusal | None] = {}

        def done(number: int, refusal: Refusal | None) -> None:
            answers[number] = refusal
            if len(answers) == len(events):
                answered.set()

        for number, event in enumerate(events):
            self._put(_Waiting(cleaned(event, self._clean), partial(done, number)), first=first, alone=len(events) == 1)
        if events:
            await answered.wait()
        return [answers[number] for number in range(len(events))]

    async def run(self) -> None:
        """Turn until `finish`; commit, and carry out what lands, for ever."""
        await self.saver.look()
        async with anyio.create_task_group() as self._tasks:
            self._tasks.start_soon(self.saver.run)
            self._tasks.start_soon(self.alarm.run)
            while not self._ending.is_set():
                await self._arrived.wait()
                self._arrived = anyio.Event()
                while not self._ending.is_set() and (self._first or self._queue or self._knows_otherwise):
                    await self._gather()
                    await self.turn()
            self._turned_last.set()

    async def finish(self, patience: float) -> tuple[Entry, ...]:
        """Decide on nothing more, and wait until what was decided is durable and under way, for so long at most.

        Returns the rows that may be lost. What is told and asked from now on is for the next daemon.
        """
        self._ending.set()
        self._arrived.set()
        self._enough.set()
        with anyio.move_on_after(min(patience, LAST_TRY) if self.saver.known.fault else patience):
            await self._turned_last.wait()
            await self.saver.flush()
            await self._dues.carried_out()
        return self.saver.unsaved

    async def turn(self) -> None:
        """Step what waits, save it in one commit, then act on it, then answer.

        Where the commit is late, what ends processes or tells people goes on; all else follows when it is there.
        """
        turn, now = await self._step_all()
        self._between = self.fleet
        self._tell_how_crowded()
        ticket, keep = None, None
        if turn.is_to_be_saved:
            batch = turn.batch(self.fleet, now)
            ticket = await self.saver.save(batch, is_order=turn.ends, begun=lambda: self._begin(turn, batch.epoch))
            if ticket.seqs is None:
                # What agents are wanted to be stands outside the journal also where that is late.
                self._remember(batch, turn.orders, False)
                batch = replace(batch, entries=(), changed=(), removed=(), incidents=(), treatments=(), usage=())
            keep = partial(self._remember, batch, turn.orders, True)
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
        if turn.actions and not turn.answers:
            # The lanes begin with these before anybody is told of the turn, where nobody waits for an answer.
            await checkpoint()
        # No Tick could be stepped before.
        self.alarm.set(next_deadline(self.fleet, now))
        seqs = ticket.seqs if ticket is not None and ticket.seqs is not None else (0,) * len(turn.entries)
        stored = [StoredEntry(seq, entry) for seq, entry in zip(seqs, turn.entries, strict=True)]
        for listener in tuple(self._listeners):
            listener(stored, tuple(turn.changed.values()))
        self._on_turn()
        turn.write_log()
        if turn.actions and turn.answers:
            # Before the next events are stepped, and behind the listeners: whoever was answered asks them next.
            await checkpoint()

    async def _gather(self) -> None:
        """In a flood, return once enough hooks have come for a turn, or anything else has."""
        now, self._enough = self._clock.at(), anyio.Event()
        if self._is_flooded and not self._is_crowded and self._is_flood:
            with anyio.move_on_after(max(0.0, self._turned_at + SPACING - now)):
                await self._enough.wait()
        while self._leaves_floods and self._is_flood and not self._ending.is_set():
            self._enough = anyio.Event()
            await self._enough.wait()
        self._turned_at = self._clock.at()

    @property
    def _is_flood(self) -> bool:
        """Whether nothing waits but what agents tell by the thousand."""
        is_bare = not (self._first or self._knows_otherwise)
        return is_bare and all(isinstance(one.event, OF_FLOODS) for one in self._queue)

    def _begin(self, turn: Turn, epoch: int) -> None:
        """While a turn is being saved: have prepared what it orders. Of a person's order nothing is begun before."""
        if turn.actions and not turn.orders:
            self._prepare(turn.actions, epoch)

    @property
    def _knows_otherwise(self) -> bool:
        """Whether the fleet has yet to hear that decisions cannot be saved now, or can be again."""
        return self._halted != (self.fleet.halted[0] if self.fleet.halted is not None else "")

    def _probe(self) -> Batch:
        """The newest snapshot once more: as much work for the disk as a decision, and nothing new in the journal."""
        return Turn().batch(self._between, self._clock.now())

    async def _step_all(self) -> tuple[Turn, Moment]:
        turn = Turn()
        now = self._clock.now()
        if self._knows_otherwise:
            # Before all that waits: a start that is decided on now could not be ordered.
            event = SavingHalted(self._halted) if self._halted else SavingResumed()
            self._first.appendleft(_Waiting(event))
        began: Instant | None = None
        paused: Instant = now.at
        # What goes first has a turn and a commit of its own: its answer waits for nothing that stood behind it. But the
        # turn after it is for what waits: orders that are given without a pause would keep deaths and deadlines out.
        waits = self._first or self._queue
        if self._ordered_last and self._queue and self._first and self._first[0].done is not None:
            waits = self._queue
        is_flood = self._is_flood
        may_end, self._ordered_last, signs = not self._ordered_last, waits is self._first, 0
        for _ in range(min(len(waits), TURN_LIMIT)):
            now = self._clock.now()
            if began is None:
                began = paused = now.at
            elif waits is self._queue and waits[0].done is None:
                if now.at - began > TURN_SPAN:
                    break
                if now.at - paused > STEP_SPAN:
                    await cancel_shielded_checkpoint()
                    if self._first or (is_flood and self._leaves_floods):
                        break
                    paused = now.at
            waiting = waits.popleft()
            signs += isinstance(waiting.event, OF_FLOODS)
            heard = as_heard(self.fleet, waiting.event)
            result = step(self.fleet, heard, now)
            turn.orders = turn.orders or (isinstance(waiting.event, ORDERS) and result.fleet.epoch != self.fleet.epoch)
            self.fleet = result.fleet
            if isinstance(waiting.event, JournalBehind):
                turn.after_row = first_row_after(self.fleet.epoch)
            if result.kept:
                turn.incidents.extend(cases.incidents(result.kept, self._clean))
                turn.treatments.extend(cases.treatments(result.kept))
                # Before what is ordered: the terminal is seen as the failure left it, and not as the next run fills it.
                turn.actions.extend(cases.copies(result.kept))
            turn.note(heard, result.decisions, now, self._clean)
            if waiting.done is not None:
                turn.answers.append((waiting.done, result.refusal))
                turn.ends |= isinstance(waiting.event, StopRequested | AgentWithdrawn) and result.refusal is None
            if waiting.saved is not None:
                turn.receipts.append(waiting.saved)
            if waiting.done is not None and may_end and waits and waits[0].done is None:
                # Nor does its commit wait for what stands behind it, unless the turn before was one for an order.
                self._ordered_last = True
                break
        if waits is self._queue:
            self._is_flooded = signs >= MANY
        return turn, now

    def _settle_after(self, kept: anyio.Event) -> None:
        async def settle() -> None:
            await kept.wait()
            self._dues.settle()

        if self._tasks is not None:
            self._tasks.start_soon(settle)

    def _landed(self, newest: int) -> None:
        self._dues.settle()
        self._on_saved(newest)

    def _refuse(self) -> None:
        """A commit failed: whoever waits for it is told, and decides for himself."""
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
        if halts != self._halted:
            self._halted = halts
            self._arrived.set()
        for event in told(before, known):
            if isinstance(event, TroubleSeen):
                log.error("degraded", kind=event.kind, reason=event.text)
            else:
                log.warning("journal_recovered", kind=event.kind, reason=event.why, withheld=self._dues.withheld)
            self.tell(event)
        if known.trouble != before.trouble:
            self._on_degraded(known.trouble or None)
        if not known.withholds:
            self._dues.release()


def _is_evidence(event: Event) -> bool:
    return isinstance(event, (EvidenceSeen, UsageSeen, *EVIDENCE))
