"""The seam between deciding and doing: one supervisor over a journal with a fate, and one line of what happened when.

The line is the promise: saved, then remembered outside the journal, then acted, then answered. Nothing outside is
simulated; what is dispatched is written down, and what is told is made up by who drives it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import anyio

from phoenixd.core.actions import Action
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode, Run
from phoenixd.core.agent.state import Desired
from phoenixd.core.alerts import DEGRADED, SLOW_DISK, find
from phoenixd.core.decision import Refusal
from phoenixd.core.events import Event
from phoenixd.core.events.orders import AgentDeclared, RestartRequested, StartRequested, StopRequested
from phoenixd.core.hooks import Hook
from phoenixd.core.spec import FleetLimits
from phoenixd.drivers.clock import SupervisedClock
from phoenixd.ports.journal import Batch, Entry
from phoenixd.runtime.describe import describe_actions, describe_event
from phoenixd.runtime.dues import OF_NO_DELAY
from phoenixd.runtime.recovery import restore
from phoenixd.runtime.supervisor import Supervisor
from tests.simulate.fated_journal import Died, Fate, FatedJournal
from tests.simulate.host import EPOCH, Host
from tests.simulate.virtual_loop import VirtualLoop

WATCHED = frozenset({"spawn", "deliver", "terminate", "kill", "fence"})
"""The actions that change the world of an agent. Looks and measurements may be done as often as one likes."""

OF_ALERTS = ("alert_raised", "alert_over")
MOST_LOOKS = 1000
"""Looks for peace, some seconds from each other: longer than a trouble that came back again and again is told."""

NO_RUN = Run(0, "none", Mode.FRESH, "none", PromptKind.GOAL, 0.0, 0.0)


class OutOfLine(AssertionError):
    """Something was done before what it stands on, twice, or never."""


@dataclass
class Seam:
    """One life of a supervisor in virtual time.

    dies_at, dies_remembering: the number of the dispatch, or of the note beside the journal, that it does not survive.
    """

    fates: Mapping[int, Fate] = field(default_factory=dict)
    dies_at: int | None = None
    dies_remembering: int | None = None
    is_strict: bool = False
    """Whether every order that is given changes something, and so has a row."""
    line: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.loop = VirtualLoop()
        self.host = Host(self.loop, "seam")
        self.host.is_calm = True
        self.journal = FatedJournal(self.host, self.fates, self._saved)
        self.dispatched = self.commits_of_the_story = 0
        self.durable: list[str] = []
        """What the durable rows say has to be done, in order."""
        self.remembered: list[str] = []
        """What the batches that were kept beside the journal say has to be done."""
        self.remembrances = 0
        self._landed: set[int] = set()
        self._entries: list[Entry] = []
        self.done: list[str] = []
        self.early: list[str] = []
        """What was done before its row was durable."""
        self.answers: list[tuple[Event, Refusal | None]] = []
        self.asked: list[Event] = []
        self.receipts: set[str] = set()
        self.promised: set[str] = set()
        self._turns: list[tuple[Entry, ...]] = []
        """The rows of each turn, in order: saved, or late."""
        self._told: Counter[str] = Counter()
        self._acknowledged: Counter[tuple[str, str | None]] = Counter()
        self._tasks: list[asyncio.Task[Any]] = []
        clock = self._clock = SupervisedClock(
            0.0, dice=Random(1), monotonic=self.loop.time, wall=lambda: EPOCH + self.loop.time()
        )
        fleet = restore(self.journal.load(), {}, FleetLimits())
        self.supervisor = Supervisor(fleet, clock, self.journal, self._dispatch, remember=self._remember)
        self.life = self._begin(self.supervisor.run())

    # --- what drives it ----------------------------------------------------------------------------------------------

    @property
    def is_alive(self) -> bool:
        return not self.life.done()

    def let(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.loop.run_until_complete(asyncio.sleep(seconds))

    def tell(self, event: Event, mark: str | None = None) -> None:
        """Something happened. mark: its teller forgets it once it is said to be durable."""
        if not self.is_alive:
            return
        if mark is None:
            self.supervisor.tell(event)
            return
        self.promised.add(mark)
        self.supervisor.tell(event, lambda: self._receipt(mark))

    def ask(self, event: Event) -> None:
        """An operator asks, and waits for the answer beside all else."""
        if self.is_alive:
            self.asked.append(event)
            self._begin(self._ask(event))

    def play(self, how: str, event: Event) -> None:
        """how: ask or tell; a hook is told by a shim that waits for its receipt."""
        if how == "ask":
            self.ask(event)
        else:
            self.tell(event, event.tool_use_id if isinstance(event, Hook) else None)

    def run_of(self, agent: str) -> Run:
        """The run that the supervisor believes in; one of nobody, where it believes in none."""
        found = self.supervisor.fleet.agents.get(agent)
        return found.run if found is not None and found.run is not None else NO_RUN

    def make_peace(self) -> None:
        """Let the journal come to itself, and hold the whole line against the promise; raises OutOfLine."""
        for _ in range(MOST_LOOKS):
            self.let(7.3)
            self._raise_what_broke()
            if not self.is_alive or (self._is_at_peace and len(self.answers) == len(self.asked)):
                break
        self._check_end()

    def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
        self.loop.close()

    # --- the line ----------------------------------------------------------------------------------------------------

    def _saved(self, batch: Batch) -> None:
        self._entries += batch.entries  # Kept, so that no other can have the same id.
        self._landed.update(map(id, batch.entries))
        self._told.update(
            f"{entry.event} {entry.detail['kind']}" for entry in batch.entries if entry.event in OF_ALERTS
        )
        self.durable += _actions_of(batch)
        self.line.append(f"saved {', '.join(entry.event for entry in batch.entries)}")

    def _remember(self, batch: Batch, is_order: bool, is_saved: bool) -> anyio.Event | None:
        self.line.append(f"remembered {', '.join(entry.event for entry in batch.entries)}")
        if batch.entries:
            self._turns.append(batch.entries)
        self._hold(self._is_durable(batch.entries) or not is_saved, "the journal is said to have what it has not")
        self.remembrances += 1
        if self.remembrances == self.dies_remembering:
            raise Died
        if not is_saved:
            self.remembered += _actions_of(batch)
            return None
        written = anyio.Event()

        async def write() -> None:
            await asyncio.sleep(0.001)
            self.remembered += _actions_of(batch)
            written.set()

        self._begin(write())
        return written

    def _dispatch(self, action: Action) -> None:
        """Never before its row: but for what ends processes while the journal fails."""
        what = f"{describe_actions([action])[0]} {getattr(action, 'agent', None)}"
        self.line.append(f"acted {what}")
        if what.split()[0] not in WATCHED:
            return
        self.done.append(what)
        known = Counter(self.remembered)[what]
        self._hold(Counter(self.done)[what] <= known, f"{what} is done before it is remembered outside the journal")
        if Counter(self.done)[what] > Counter(self.durable)[what]:
            # That there was trouble lately is no excuse: now a commit is late, or the journal takes nothing.
            is_urgent = isinstance(action, OF_NO_DELAY) and self._is_in_trouble
            self._hold(is_urgent, f"{what} is done, and no durable row says so")
            self.early.append(what)
        self.dispatched += 1
        if self.dispatched == self.dies_at:
            raise Died

    async def _ask(self, event: Event) -> None:
        before = len(self.durable)
        refusal = await self.supervisor.ask(event)
        self.answers.append((event, refusal))
        kind, agent = describe_event(event)[0], _subject(event)
        self.line.append(f"answered {kind} {agent}: {refusal.code if refusal else 'done'}")
        if refusal is not None:
            return
        what = f"{kind} {agent} is acknowledged"
        self._acknowledged[kind, agent] += 1
        self._hold_done(self.durable[:before], what)
        if self.is_strict:
            self._hold_turn(self._turn_of(kind, agent, self._acknowledged[kind, agent]), what)
        newest = [one for one in self.asked if _subject(one) == agent and _wish(one) is not None]
        if newest and newest[-1] is event:
            durable = self.journal.facts[agent][2]
            self._hold(durable is _wish(event), f"{what}, and the journal says {durable}")

    def _turn_of(self, kind: str, agent: str, number: int) -> int | None:
        """Which turn decided on the n-th order of its kind; None where no turn was saved, or is late, that did."""
        for at, entries in enumerate(self._turns):
            number -= sum((entry.event, entry.agent) == (kind, agent) for entry in entries)
            if number <= 0:
                return at
        return None

    def _hold_turn(self, at: int | None, what: str) -> None:
        """A turn is told of when each row of it, and of those before it, is durable and acted upon."""
        self._hold(at is not None, f"{what}, and nobody decided on it")
        assert at is not None
        rows = [entry for entries in self._turns[: at + 1] for entry in entries]
        self._hold(self._is_durable(rows), f"{what}, and not durable")
        self._hold_done([one for entry in rows for one in _actions_in(entry)], what)

    def _hold_done(self, wanted: list[str], what: str) -> None:
        """All of it was done; but for what begins something while the journal takes nothing."""
        undone = Counter(wanted) - Counter(self.done)
        if self.supervisor.saver.known.withholds:
            undone = Counter({one: times for one, times in undone.items() if _is_urgent(one)})
        self._hold(not undone, f"{what} before {list(undone)} was done")

    def _is_durable(self, entries: Iterable[Entry]) -> bool:
        return all(id(entry) in self._landed for entry in entries)

    def _receipt(self, mark: str) -> None:
        self.line.append(f"answered {mark}")
        self._hold(mark not in self.receipts, f"{mark} is acknowledged twice")
        told = [at for at, entries in enumerate(self._turns) if any(_mark(entry) == mark for entry in entries)]
        self._hold_turn(told[0] if told else None, f"{mark} is acknowledged")
        self.receipts.add(mark)

    def _check_end(self) -> None:
        """In peace: all that was decided is done once and in order, and all that waited have an answer."""
        if not self.is_alive:
            self._check_death()
            return
        self._hold(self._is_at_peace, f"there is trouble for ever: {self.supervisor.degraded}")
        for kind in (SLOW_DISK, DEGRADED):
            raised, over = self._told[f"alert_raised {kind}"], self._told[f"alert_over {kind}"]
            self._hold(raised == over, f"{kind} was raised {raised} times, and {over} times it was over")
        for urgent in (False, True):
            wanted = [what for what in self.durable if _is_urgent(what) is urgent]
            done = [what for what in self.done if _is_urgent(what) is urgent]
            self._hold(wanted == done, f"the journal wants {wanted}, and {done} was done")
        self._hold(len(self.answers) == len(self.asked), "somebody waits for an answer")
        self._hold(self.receipts == self.promised, f"{self.promised - self.receipts} was never acknowledged")

    def _check_death(self) -> None:
        """What the next daemon reads: every acknowledged order, and whatever was begun."""
        saved = {agent.name: agent for agent in self.journal.load().agents}
        wishes: dict[str, Desired | None] = {}
        for event in self.asked:
            if _wish(event) is not None:
                is_acknowledged = any(one is event and refusal is None for one, refusal in self.answers)
                wishes[_subject(event)] = _wish(event) if is_acknowledged else None
        for agent, wish in wishes.items():
            if wish is not None:
                is_kept = saved[agent].desired is wish or (wish is Desired.RUNNING and _left(saved[agent]))
                self._hold(is_kept, f"the {wish} of {agent} was acknowledged, and is forgotten")
        patient = [what for what in self.done if not _is_urgent(what)]
        wanted = [what for what in self.durable if not _is_urgent(what)]
        self._hold(patient == wanted[: len(patient)], f"{patient} was done, and the journal wants {wanted}")

    @property
    def _is_at_peace(self) -> bool:
        """Whether decisions are durable as they are made, and have been for so long that this was told, durably."""
        fleet = self.supervisor.fleet
        stands = any(find(fleet.alerts, kind) is not None for kind in (SLOW_DISK, DEGRADED))
        return self.supervisor.degraded is None and not stands and not self.supervisor.saver.is_behind

    @property
    def _is_in_trouble(self) -> bool:
        """Whether at this moment a commit is late, or the journal takes nothing."""
        known = self.supervisor.saver.known
        return bool(known.withholds) or known.is_late(self._clock.at())

    # --- inside ------------------------------------------------------------------------------------------------------

    def _begin(self, what: Coroutine[Any, Any, None]) -> asyncio.Task[Any]:
        task = self.loop.create_task(what)
        self._tasks.append(task)
        return task

    def _hold(self, holds: bool, what: str) -> None:
        if not holds:
            raise OutOfLine("\n".join([what, *self.line]))

    def _raise_what_broke(self) -> None:
        """A breach in a task of the supervisor's ends it; here it is told."""
        for task in self._tasks:
            if task.done() and not task.cancelled():
                _raise_breach(task.exception())


def _raise_breach(error: BaseException | None) -> None:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if error is not None and not isinstance(error, Died):
        raise error


def _actions_of(batch: Batch) -> list[str]:
    return [action for entry in batch.entries for action in _actions_in(entry)]


def _actions_in(entry: Entry) -> list[str]:
    return [f"{one} {entry.agent}" for one in entry.actions if one.split()[0] in WATCHED]


def _mark(entry: Entry) -> str | None:
    return entry.detail.get("tool_use_id")


def _subject(event: Event) -> str:
    return event.spec.name if isinstance(event, AgentDeclared) else str(getattr(event, "agent", ""))


def _wish(event: Event) -> Desired | None:
    """What an order says for good."""
    if isinstance(event, StopRequested):
        return Desired.STOPPED
    return Desired.RUNNING if isinstance(event, StartRequested | RestartRequested) else None


def _is_urgent(what: str) -> bool:
    return what.split()[0] in ("terminate", "kill", "fence")


def _left(agent: Agent) -> bool:
    """Whether its newest run ended with 0 and on purpose: then nobody wants it to run any more."""
    end = agent.last_exit
    return end is not None and (end.code, end.incarnation) == (0, agent.incarnation) and agent.run is None
