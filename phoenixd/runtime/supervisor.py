"""The one loop: drain what waits, step it all, commit once, then dispatch. Only here does the fleet change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import anyio
from anyio.lowlevel import cancel_shielded_checkpoint, checkpoint

from phoenixd.core.actions import Action
from phoenixd.core.agent import Agent
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.decision import Refusal
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import SavingHalted, SavingResumed, Tick
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.step import as_heard, step
from phoenixd.documents.redact import CleanOf, redact
from phoenixd.ports import Clock
from phoenixd.ports.journal import Entry, Journal, StoredEntry
from phoenixd.runtime.alarm import Alarm
from phoenixd.runtime.arrivals import Arrivals, Waiting
from phoenixd.runtime.cleaning import cleaned
from phoenixd.runtime.commits import Commits, Remember
from phoenixd.runtime.turn import Turn

TURN_LIMIT = 1000
"""Events that are taken into one commit at most."""
TURN_SPAN = 0.01
"""Seconds for which a turn steps at most: of a hundred deaths at once the first ones are acted upon meanwhile, and an
order that comes now waits no longer than that. Requests that belong together are never parted."""
STEP_SPAN = 0.0005
"""Seconds for which it steps before all else in the loop has its turn: on its way an order passes through the loop a
dozen times. An order that is there by then ends the turn."""
LONGEST_PAUSE = 15.0
"""Seconds between two turns at most: an idle loop proves so that it turns."""


class Listener(Protocol):
    """Somebody who is told of every turn after it was saved: entries with their row numbers, and changed agents."""

    def __call__(self, entries: Sequence[StoredEntry], changed: Sequence[Agent]) -> None: ...


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
        clean: CleanOf = lambda agent, text: redact(text),
        on_saved: Callable[[int], None] = lambda newest: None,
        remember: Remember = lambda batch, is_order, is_saved: None,
    ) -> None:
        """on_saved: called with the newest row number when turns became durable after their listeners were told.

        longest_pause: seconds after which `on_turn` is called at the latest, however little happens.
        clean: applied to the words of others in every event that is told.
        remember: called with each batch after its commit and before its first action.
        """
        self.fleet = fleet
        self._clock, self._clean, self._on_turn = clock, clean, on_turn
        self._listeners = list(listeners)
        self.arrivals = Arrivals(clock, lambda: self._knows_otherwise)
        self.commits = Commits(fleet, clock, journal, self.tell, self.arrivals.wake, on_degraded)
        self.commits.dispatch, self.commits.remember, self.commits.on_saved = dispatch, remember, on_saved
        self.saver = self.commits.saver
        self.alarm = Alarm(clock, lambda: self.tell(Tick()), longest_pause)
        self._ordered_last = False
        """The turn before was one of those that go first."""
        self._put_off: Turn | None = None
        """A turn of a flood that stood back before its commit: the next one goes on with it."""
        self._turned_last = anyio.Event()

    @property
    def degraded(self) -> str | None:
        """What is or was lately wrong with saving decisions, or None."""
        return self.commits.degraded

    @property
    def halted(self) -> str | None:
        """Why nothing new is started now, or None."""
        return self.commits.halted or None

    def connect(
        self,
        *,
        dispatch: Callable[[Action], None],
        clean: CleanOf,
        remember: Remember,
        listener: Listener,
        on_saved: Callable[[int], None],
        on_crowded: Callable[[bool], None],
        on_long_crowded: Callable[[], None],
        prepare: Callable[[Sequence[Action], int], None] = lambda actions, epoch: None,
    ) -> None:
        """Speak from now on to parts that were made after it; to be called before it runs, and before it hears."""
        self._clean = clean
        self.commits.dispatch, self.commits.prepare = dispatch, prepare
        self.commits.remember, self.commits.on_saved = remember, on_saved
        self.arrivals.on_crowded, self.arrivals.on_long_crowded = on_crowded, on_long_crowded
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
        if saved is None and not self.arrivals.takes(event):
            return
        self.arrivals.put(Waiting(cleaned(event, self._clean), saved=saved))

    def begin_with(self, event: Event) -> None:
        """Queue an event before all others: what has to be decided before anything else is."""
        self.arrivals.begin_with(event)

    def leave_floods(self, left: bool) -> None:
        """Have what agents tell by the thousand wait, or go on: an operator is on the way with an order."""
        self.arrivals.leave_floods(left)

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
            waiting = Waiting(cleaned(event, self._clean), partial(done, number))
            self.arrivals.put(waiting, first=first, alone=len(events) == 1)
        if events:
            await answered.wait()
        return [answers[number] for number in range(len(events))]

    async def run(self) -> None:
        """Turn until `finish`; commit, and carry out what lands, for ever."""
        await self.saver.look()
        async with anyio.create_task_group() as tasks:
            self.commits.run_in(tasks)
            tasks.start_soon(self.alarm.run)
            while not self.arrivals.over.is_set():
                await self.arrivals.some()
                while not self.arrivals.over.is_set() and self._has_more:
                    await self.arrivals.gather()
                    await self.turn()
            if self._put_off is not None:
                turn, self._put_off = self._put_off, None
                await self._carry_out(turn, self._clock.now())
            self._turned_last.set()

    async def finish(self, patience: float) -> tuple[Entry, ...]:
        """Decide on nothing more, and wait until what was decided is durable and under way, for so long at most.

        Returns the rows that may be lost. What is told and asked from now on is for the next daemon.
        """
        self.arrivals.end()
        return await self.commits.finish(patience, self._turned_last)

    async def turn(self) -> None:
        """Step what waits, have it saved and carried out, and tell of it.

        A flood that stands back for an operator is stepped no further, and saved together with the order.
        """
        turn, now = await self._step_all()
        if self._put_off is None:
            await self._carry_out(turn, now)

    async def _carry_out(self, turn: Turn, now: Moment) -> None:
        self.commits.fleet = self.fleet
        self.arrivals.tell_how_crowded()
        stored = await self.commits.take(turn, self.fleet, now)
        if turn.actions and not turn.answers:
            # The lanes begin with these before anybody is told of the turn, where nobody waits for an answer.
            await checkpoint()
        # No Tick could be stepped before.
        self.alarm.set(next_deadline(self.fleet, now))
        for listener in tuple(self._listeners):
            listener(stored, tuple(turn.changed.values()))
        self._on_turn()
        turn.write_log()
        if turn.actions and turn.answers:
            # Before the next events are stepped, and behind the listeners: a client that was answered asks them next.
            await checkpoint()

    @property
    def _has_more(self) -> bool:
        return self.arrivals.waits or self._knows_otherwise or self._put_off is not None

    @property
    def _knows_otherwise(self) -> bool:
        """Whether the fleet has yet to hear that decisions cannot be saved now, or can be again."""
        return self.commits.halted != (self.fleet.halted[0] if self.fleet.halted is not None else "")

    async def _step_all(self) -> tuple[Turn, Moment]:
        is_gone_on_with = self._put_off is not None
        turn, self._put_off = self._put_off or Turn(), None
        first, queue = self.arrivals.first, self.arrivals.queue
        now = self._clock.now()
        if self._knows_otherwise:
            # Before all that waits: a start that is decided on now could not be ordered.
            first.appendleft(Waiting(SavingHalted(self.halted) if self.halted else SavingResumed()))
        began: Instant | None = None
        paused: Instant = now.at
        # What goes first has a turn and a commit of its own: its answer waits for nothing that stood behind it. But the
        # turn after it is for what waits: orders that are given without a pause would keep deaths and deadlines out.
        waits = first or queue
        if self._ordered_last and queue and first and first[0].done is not None:
            waits = queue
        is_flood = self.arrivals.is_flood
        may_end, self._ordered_last, signs = not self._ordered_last, waits is first, 0
        for _ in range(min(len(waits), TURN_LIMIT)):
            now = self._clock.now()
            if began is None:
                began = paused = now.at
            elif waits is queue and waits[0].done is None:
                if now.at - began > TURN_SPAN:
                    break
                if now.at - paused > STEP_SPAN:
                    await cancel_shielded_checkpoint()
                    if is_flood and self.arrivals.stands_back:
                        # Once, so that looks without a pause put off no commit for ever.
                        self._put_off = None if is_gone_on_with else turn
                        break
                    if first:
                        break
                    paused = now.at
            waiting = waits.popleft()
            signs += waiting.is_of_a_flood
            heard = as_heard(self.fleet, waiting.event)
            result = step(self.fleet, heard, now)
            turn.take(waiting, heard, result, self.fleet.epoch, now, self._clean)
            self.fleet = result.fleet
            if waiting.done is not None and may_end and waits and waits[0].done is None:
                # Nor does its commit wait for what stands behind it, unless the turn before was one for an order.
                self._ordered_last = True
                break
        if waits is queue:
            self.arrivals.stepped(signs)
        return turn, now
