"""Daemons whose journal lies on the disk of a case: supervisor and saver are the real ones, in virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from random import Random

import anyio

from phoenixd.core.actions import Action, Alert, Reassure, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.durability import SILENT
from phoenixd.core.events.fleet import StateEdited
from phoenixd.core.events.orders import AgentDeclared
from phoenixd.core.events.runs import AgentExited, AgentStarted
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import Moment
from phoenixd.core.spec import AgentSpec, FleetLimits
from phoenixd.core.step import step
from phoenixd.drivers.clock import SupervisedClock
from phoenixd.errors import JournalFailed
from phoenixd.ports.journal import Batch
from phoenixd.runtime.recovery import restore
from phoenixd.runtime.supervisor import Supervisor
from tests.blind.tables import Table, quantity, times
from tests.simulate.host import Host
from tests.simulate.memory_journal import MemoryJournal
from tests.simulate.virtual_loop import VirtualLoop

NAME = "a"
TAKES = 0.005
LOOK = 0.25
"""Seconds between two looks at what is known of the disk, while a start is waited for."""


@dataclass(frozen=True, slots=True)
class Manner:
    """What the disk does from a time on."""

    since: float
    takes: float = TAKES
    refuses: str = ""
    room: bool = True


class _Journal(MemoryJournal):
    """A journal on the disk of the case."""

    def __init__(self, host: Host, manners: list[Manner]) -> None:
        super().__init__(host)
        self._manners = manners

    @property
    def manner(self) -> Manner:
        return [one for one in self._manners if one.since <= self._host.now + 1e-6][-1]

    def begin_with(self, agent: Agent) -> None:
        self._apply(Batch(0.0, self._host.wall, changed=(agent,)))

    async def commit(self, batch: Batch) -> tuple[int, ...]:
        manner = self.manner
        if manner.refuses:
            raise JournalFailed(manner.refuses)
        await anyio.sleep(manner.takes)
        return self._apply(batch)

    async def shortage(self) -> str | None:
        return None if self.manner.room else "3 KiB are left on its disk"


class Daemons:
    """One daemon after the other on one disk. crash: when its agent dies, None for never."""

    def __init__(self, case: Table, crash: float | None) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self._host = Host(loop, case["id"])
        self._host.is_calm = True
        self._until = quantity(case["expect"]["until"])
        self._manners = sorted((_manner(row) for row in case.get("disk", ())), key=lambda one: one.since)
        self._journal = self._host.journal = _Journal(self._host, [Manner(0.0), *self._manners])
        self._commits = sorted(at for row in case.get("commits", ()) for at in times(row) if at <= self._until)
        self._restarts = sorted(quantity(row["at"]) for row in case.get("daemon", ()))
        self._crash = crash
        self._spawned_at: float | None = None
        self._decided = anyio.Event()
        self.withheld = ""
        self.told: list[tuple[float, Alert | Reassure]] = []
        agent = _running(self._host.wall)
        assert agent.run is not None
        self._died = AgentExited(NAME, agent.incarnation, agent.run.run_id, 1, None)
        self._journal.begin_with(agent)
        self._supervisor: Supervisor

    @property
    def is_started(self) -> bool:
        """Whether the crash was answered by a start, and nothing withheld it meanwhile."""
        return self._spawned_at is not None and not self.withheld

    async def live(self) -> None:
        began = 0.0
        for ends in (*self._restarts, self._until):
            await self._one(began, ends)
            if self._decided.is_set():
                return
            began = ends

    async def _one(self, began: float, ends: float) -> None:
        """One life of a daemon; its end is kill -9: what was being committed is lost."""
        dice = Random(1)
        saved = self._journal.load()
        clock = SupervisedClock(saved.at, dice=dice, monotonic=self._host.loop.time, wall=lambda: self._host.wall)
        fleet = restore(saved, {}, FleetLimits())
        self._supervisor = Supervisor(fleet, clock, self._journal, self._dispatch)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._supervisor.run)
            tasks.start_soon(self._commit_on, began, ends)
            tasks.start_soon(self._look_for_room, began, ends)
            if self._crash is not None and self._spawned_at is None:
                tasks.start_soon(self._die, self._crash, began, ends, clock)
            with anyio.move_on_after(ends - self._host.now):
                await self._decided.wait()
            tasks.cancel_scope.cancel()

    async def _commit_on(self, began: float, ends: float) -> None:
        for at in self._commits:
            if began <= at < ends:
                await self._sleep_until(at)
                self._supervisor.tell(StateEdited(NAME))

    async def _look_for_room(self, began: float, ends: float) -> None:
        """The host's word that there is too little room, or enough again, comes when that changes."""
        room = True
        for manner in self._manners:
            if manner.room != room and began <= manner.since < ends:
                await self._sleep_until(manner.since)
                await self._supervisor.saver.look()
            room = manner.room

    async def _die(self, at: float, began: float, ends: float, clock: SupervisedClock) -> None:
        """Its exit record is there for the next daemon as well, should this one not live to save what follows."""
        if at >= ends:
            return
        await self._sleep_until(max(at, began))
        self._supervisor.tell(self._died)
        while self._spawned_at is None and not self.withheld:
            await anyio.sleep(LOOK)
            known = self._supervisor.saver.known
            is_silent = known.since is not None and clock.at() - known.since >= SILENT
            if self._spawned_at is None:
                self.withheld = known.withholds or (known.failing.why if is_silent else "")
        self._decided.set()

    async def _sleep_until(self, at: float) -> None:
        await anyio.sleep(max(0.0, at - self._host.now))

    def _dispatch(self, action: Action) -> None:
        if isinstance(action, Alert | Reassure) and action.agent is None:
            self.told.append((self._host.now, action))
        elif isinstance(action, Spawn) and self._spawned_at is None:
            self._spawned_at = self._host.now


def _manner(row: Table) -> Manner:
    takes, refuses = quantity(row.get("takes", TAKES)), row.get("refuses", "")
    return Manner(quantity(row["from"]), takes, refuses, row.get("room", True))


def _running(wall: float) -> Agent:
    """An agent that runs, as a journal has it."""
    now = Moment(0.0, wall, 0.5, "first")
    fleet = step(Fleet(), AgentDeclared(AgentSpec(NAME, ("work",), "/srv"), start=True), now).fleet
    run = fleet.agents[NAME].run
    assert run is not None
    fleet = step(fleet, AgentStarted(NAME, run.incarnation, run.run_id, 101, 1), now).fleet
    spec = fleet.agents[NAME].spec
    return replace(fleet.agents[NAME], spec=replace(spec, liveness=replace(spec.liveness, enabled=False)))
