"""The one loop: drain what waits, step it all, commit once, then dispatch. Only here does the fleet change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import anyio
from anyio.lowlevel import checkpoint

from phoenixd.core.actions import Action
from phoenixd.core.agent import Agent
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.decision import Refusal
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import SavingHalted, SavingResumed, Tick
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import Moment
from phoenixd.documents.redact import CleanOf, redact
from phoenixd.ports import Clock
from phoenixd.ports.journal import Entry, Journal, StoredEntry
from phoenixd.runtime.alarm import Alarm
from phoenixd.runtime.arrivals import Arrivals, Waiting
from phoenixd.runtime.cleaning import cleaned
from phoenixd.runtime.commits import Commits, Remember
from phoenixd.runtime.stepping import Stepping
from phoenixd.runtime.turn import Turn

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
        self._clock, self._clean, self._on_turn = clock, clean, on_turn
        self._listeners = list(listeners)
        self.arrivals = Arrivals(clock, lambda: self._knows_otherwise)
        self._stepping = Stepping(fleet, clock, self.arrivals)
        self.commits = Commits(fleet, clock, journal, self.tell, self.arrivals.wake, on_degraded)
        self.commits.dispatch, self.commits.remember, self.commits.on_saved = dispatch, remember, on_saved
        self.saver = self.commits.saver
        self.alarm = Alarm(clock, lambda: self.tell(Tick()), longest_pause)
        self._turned_last = anyio.Event()

    @property
    def fleet(self) -> Fleet:
        return self._stepping.fleet

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
            if self._stepping.put_off is not None:
                await self._carry_out(self._stepping.put_off, self._clock.now())
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
        news: Event | None = None
        if self._knows_otherwise:
            # Before all that waits: a start that is decided on now could not be ordered.
            news = SavingHalted(self.halted) if self.halted else SavingResumed()
        turn, now = await self._stepping.turn(news, self._clean)
        if self._stepping.put_off is None:
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
        return self.arrivals.waits or self._knows_otherwise or self._stepping.put_off is not None

    @property
    def _knows_otherwise(self) -> bool:
        """Whether the fleet has yet to hear that decisions cannot be saved now, or can be again."""
        return self.commits.halted != (self.fleet.halted[0] if self.fleet.halted is not None else "")
