"""The seam between deciding and doing: one supervisor over a journal with a fate, and one line of what happened when.

The line is the promise: saved, then remembered outside the journal, then acted, then answered. Nothing outside is
simulated; what is dispatched is written down, and what is told is made up by who drives it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

import anyio

from phoenixd.core.actions import Action
from phoenixd.core.agent import Desired, Mode, PromptKind, Run
from phoenixd.core.decision import Refusal
from phoenixd.core.events import AgentDeclared, Event, HookSeen, RestartRequested, StartRequested, StopRequested
from phoenixd.core.spec import FleetLimits
from phoenixd.drivers.clock import SupervisedClock
from phoenixd.errors import JournalFailed
from phoenixd.ports import Batch, Entry
from phoenixd.runtime.describe import describe_actions, describe_event
from phoenixd.runtime.dues import OF_NO_DELAY
from phoenixd.runtime.recovery import restore
from phoenixd.runtime.supervisor import Supervisor
from tests.simulate.host import EPOCH, Host
from tests.simulate.memory_journal import MemoryJournal
from tests.simulate.virtual_loop import VirtualLoop

Fate = Literal["lands", "late", "fails", "dies before", "dies after"]
FATES: tuple[Fate, ...] = ("late", "fails", "dies before", "dies after")
LATENESS = 5.0
"""Seconds: longer than the supervisor waits before it goes on without the journal."""
WATCHED = frozenset({"spawn", "deliver", "terminate", "kill", "fence"})
"""The actions that change the world of an agent. Looks and measurements may be done as often as one likes."""

NO_RUN = Run(0, "none", Mode.FRESH, "none", PromptKind.GOAL, 0.0, 0.0)


class Died(BaseException):
    """kill -9, at this instruction."""


class OutOfLine(AssertionError):
    """Something was done before what it stands on, twice, or never."""


class FatedJournal(MemoryJournal):
    """What becomes of the n-th attempt to commit is written beforehand; those of which nothing is written land."""

    def __init__(self, host: Host, fates: Mapping[int, Fate], landed: Callable[[Batch], None]) -> None:
        super().__init__(host)
        self.fates = dict(fates)
        self.attempts = 0
        self._landed = landed

    async def commit(self, batch: Batch) -> tuple[int, ...]:
        self.attempts += 1
        fate = self.fates.get(self.attempts, "lands")
        if fate == "late":
            await asyncio.sleep(LATENESS)
        if fate == "fails":
            raise JournalFailed("the disk is full")
        if fate == "dies before":
            raise Died
        seqs = await super().commit(batch)
        self._landed(batch)
        if fate == "dies after":
            raise Died
        return seqs


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
        self._rows: Counter[tuple[str, str | None]] = Counter()
        self._wanted: dict[tuple[str, str | None], Counter[str]] = {}
        self._acknowledged: Counter[tuple[str, str | None]] = Counter()
        self._tasks: list[asyncio.Task[Any]] = []
        clock = SupervisedClock(0.0, dice=Random(1), monotonic=self.loop.time, wall=lambda: EPOCH + self.loop.time())
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
        """Something happened. mark: whoever told it forgets it once it is said to be durable."""
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
            self.tell(event, event.tool_use_id if isinstance(event, HookSeen) else None)

    def run_of(self, agent: str) -> Run:
        """The run that the supervisor believes in; one of nobody, where it believes in none."""
        found = self.supervisor.fleet.agents.get(agent)
        return found.run if found is not None and found.run is not None else NO_RUN

    def make_peace(self) -> None:
        """Let the journal come to itself, and hold the whole line against the promise; raises OutOfLine."""
        for _ in range(40):
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
        for entry in batch.entries:
            self._rows[entry.event, entry.agent] += 1
            self._wanted.setdefault((entry.event, entry.agent), Counter()).update(_actions_in(entry))
        self.durable += _actions_of(batch)
        self.line.append(f"saved {', '.join(entry.event for entry in batch.entries)}")

    def _remember(self, batch: Batch, is_order: bool, is_saved: bool) -> anyio.Event | None:
        self.line.append(f"remembered {', '.join(entry.event for entry in batch.entries)}")
        landed = all(id(entry) in self._landed for entry in batch.entries)
        self._hold(landed or not is_saved, "the journal is said to have what it has not")
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
            is_urgent = isinstance(action, OF_NO_DELAY) and self.supervisor.degraded is not None
            self._hold(is_urgent, f"{what} is done, and no durable row says so")
            self.early.append(what)
        self.dispatched += 1
        if self.dispatched == self.dies_at:
            raise Died

    async def _ask(self, event: Event) -> None:
        refusal = await self.supervisor.ask(event)
        self.answers.append((event, refusal))
        kind, agent = describe_event(event)[0], _subject(event)
        self.line.append(f"answered {kind} {agent}: {refusal.code if refusal else 'done'}")
        if refusal is not None:
            return
        self._acknowledged[kind, agent] += 1
        if self.is_strict:
            known = self._rows[kind, agent]
            self._hold(known >= self._acknowledged[kind, agent], f"{kind} {agent} is acknowledged, and not durable")
        newest = [one for one in self.asked if _subject(one) == agent and _wish(one) is not None]
        if newest and newest[-1] is event:
            durable = self.journal.facts[agent][2]
            self._hold(durable is _wish(event), f"{kind} {agent} is acknowledged, and the journal says {durable}")
        if self._is_at_peace:
            # Of its own row: what a later one wants may be a moment behind this answer.
            undone = self._wanted.get((kind, agent), Counter[str]()) - Counter(self.done)
            self._hold(not undone, f"{kind} {agent} is acknowledged before {list(undone)} was done")

    def _receipt(self, mark: str) -> None:
        self.line.append(f"answered {mark}")
        self._hold(mark not in self.receipts, f"{mark} is acknowledged twice")
        self._hold(mark in self.journal.marks, f"{mark} is acknowledged, and not durable")
        self.receipts.add(mark)

    def _check_end(self) -> None:
        """In peace: all that was decided is done once and in order, and whoever waited has an answer."""
        if not self.is_alive:
            self._check_death()
            return
        self._hold(self._is_at_peace, "nothing new is started for ever")
        for urgent in (False, True):
            wanted = [what for what in self.durable if _is_urgent(what) is urgent]
            done = [what for what in self.done if _is_urgent(what) is urgent]
            self._hold(wanted == done, f"the journal wants {wanted}, and {done} was done")
        self._hold(len(self.answers) == len(self.asked), "somebody waits for an answer")
        self._hold(self.receipts == self.promised, f"{self.promised - self.receipts} was never acknowledged")

    def _check_death(self) -> None:
        """What whoever comes next reads: every acknowledged order, and whatever was begun."""
        saved = {agent.name: agent for agent in self.journal.load().agents}
        wishes: dict[str, Desired | None] = {}
        for event in self.asked:
            if _wish(event) is not None:
                is_acknowledged = any(one is event and refusal is None for one, refusal in self.answers)
                wishes[_subject(event)] = _wish(event) if is_acknowledged else None
        for agent, wish in wishes.items():
            if wish is not None:
                self._hold(saved[agent].desired is wish, f"the {wish} of {agent} was acknowledged, and is forgotten")
        patient = [what for what in self.done if not _is_urgent(what)]
        wanted = [what for what in self.durable if not _is_urgent(what)]
        self._hold(patient == wanted[: len(patient)], f"{patient} was done, and the journal wants {wanted}")

    @property
    def _is_at_peace(self) -> bool:
        """Whether decisions are durable as they are made; that it was otherwise may be told for some time yet."""
        return self.supervisor.halted is None and not self.supervisor.saver.is_behind

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


def _subject(event: Event) -> str:
    return event.spec.name if isinstance(event, AgentDeclared) else str(getattr(event, "agent", ""))


def _wish(event: Event) -> Desired | None:
    """What an order says for good."""
    if isinstance(event, StopRequested):
        return Desired.STOPPED
    return Desired.RUNNING if isinstance(event, StartRequested | RestartRequested) else None


def _is_urgent(what: str) -> bool:
    return what.split()[0] in ("terminate", "kill", "fence")
