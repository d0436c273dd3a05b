"""One life of the daemon after another, composed as the real one is, with epoch and wishes kept beside its journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio
from anyio.abc import TaskGroup

from phoenixd.core.actions import Alert, Reassure, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.boot import Boot
from phoenixd.core.spec import AgentSpec, FleetLimits
from phoenixd.ports.journal import Batch
from phoenixd.ports.processes import Fenced, ProcessIdentity
from phoenixd.ports.shims import ShimHello
from phoenixd.runtime.epochs import EpochKeeper
from phoenixd.runtime.world import Faced, face
from tests.blind.stage import QuietProgram, Stage
from tests.simulate.daemon import Daemon, Ports
from tests.simulate.fakes import SimulatedLauncher, SimulatedNotifier, SimulatedProcesses, SimulatedRecords
from tests.simulate.host import Life
from tests.simulate.links import SimulatedShims
from tests.simulate.terminal import SimulatedTerminal

WRITES, LOOKS = 0.01, 0.01
"""Seconds that an order takes to be written, and one look of a fence."""


class QuietLauncher(SimulatedLauncher):
    """Orders carry the epoch that the journal holds by then."""

    def __init__(self, host: Stage, committed: Callable[[], int]) -> None:
        super().__init__(host)
        self._stage = host
        self._committed = committed

    async def write_order(self, agent: Agent, spawn: Spawn, hello: ShimHello) -> str:
        await anyio.sleep(WRITES)
        name = f"/run/{spawn.run_id}"
        self._orders[name] = QuietProgram(self._stage, agent, spawn, self._committed())
        return name


class WitnessedShims(SimulatedShims):
    """Shims that say the epochs they know, and that note who had a run ended."""

    _host: Stage

    def tell_epoch(self, number: int) -> None:
        for link in self._links.values():
            self._host.told[link.shim] = max(number, self._host.told.get(link.shim, 0))

    def kill(self, agent: str, incarnation: int) -> None:
        run = self._host.living_run(agent)
        if run is not None and run.incarnation == incarnation:
            self._host.ends_run(agent)
        super().kill(agent, incarnation)

    def quit(self, agent: str) -> None:
        self._host.ends_run(agent)
        super().quit(agent)

    def _open(self, agent: str) -> ShimHello | None:
        hello = super()._open(agent)
        if hello is None:
            return None
        link = self._links[agent]
        run, living = hello.run, link.shim.run
        if run is not None and living is not None and isinstance(living.program, QuietProgram):
            program = living.program
            run = replace(run, session_id=program.session_id, mode=program.mode.value, epoch=program.epoch)
        link.hello = replace(hello, run=run, told=self._host.told.get(link.shim, 0), knows_epochs=True)
        return link.hello


class WitnessedTerminal(SimulatedTerminal):
    """A pane that is closed takes the run in it along."""

    _host: Stage

    async def open_pane(self, agent: str, argv: Sequence[str]) -> int | None:
        self._host.ends_run(agent)
        return await super().open_pane(agent, argv)

    async def close_pane(self, agent: str) -> None:
        self._host.ends_run(agent)
        await super().close_pane(agent)


class HidingProcesses(SimulatedProcesses):
    """What a fence finds where there are control groups, and what where there are none."""

    _host: Stage

    def __init__(self, host: Stage, life: Life, shims: SimulatedShims) -> None:
        super().__init__(host, life)
        self._shims = shims

    def boot(self) -> Boot:
        return Boot(self._host.boot_id, self._host.tables, self._host.tables)

    async def fence(self, agent: str, incarnation: int, run_id: str, child: ProcessIdentity | None) -> Fenced:
        host, killed = self._host, []
        for process in host.tree(run_id):
            if host.leaf or host.is_seen(process):
                host.did("kill", process.agent)
                host.kill(process)
                killed.append(f"{process.identity.pid} agent")
        await anyio.sleep(LOOKS)
        if host.leaf or self._shims.shim_of(agent) is not None:
            return Fenced(tuple(killed))
        since = child.start_time if child is not None else 0
        unread = [pid for pid in sorted(host.unreadable & set(host.processes))]
        followed = tuple(pid for pid in unread if host.processes[pid].identity.start_time >= since)
        return Fenced(tuple(killed), unproven=True, unread=followed)


class WrittenRecords(SimulatedRecords):
    """run.json is there as well."""

    def run_record(self, agent: str) -> dict[str, Any] | None:
        assert isinstance(self.host, Stage)
        return self.host.files.runs.get(agent)


class Told(SimulatedNotifier):
    """What the operator is told."""

    _host: Stage

    def tell(self, word: Alert | Reassure) -> None:
        if isinstance(word, Alert):
            self._host.did(word.kind, word.agent)


class FacingDaemon(Daemon):
    """A daemon that keeps epoch and wishes outside its journal, and holds them against it when it starts."""

    _host: Stage

    def __init__(self, host: Stage, specs: Mapping[str, AgentSpec]) -> None:
        self._keeper: EpochKeeper
        super().__init__(host, specs, FleetLimits())

    def _ports(self, life: Life) -> Ports:
        host = self._host
        shims: WitnessedShims
        keeper = self._keeper = EpochKeeper(
            host.files, self._clock, lambda event: self.supervisor.tell(event), lambda number: shims.tell_epoch(number)
        )
        launcher = QuietLauncher(host, lambda: keeper.committed)
        shims = WitnessedShims(host, life, self._hear, launcher.order)
        processes = HidingProcesses(host, life, shims)
        return Ports(WitnessedTerminal(host), launcher, shims, processes, WrittenRecords(host), Told(host))

    def _remember(self, batch: Batch, is_order: bool, is_saved: bool) -> anyio.Event | None:
        return self._keeper.keep(batch, is_order, is_saved)

    async def _face(self, tasks: TaskGroup) -> Faced | None:
        specs = tuple(self._specs.values())
        faced = await face(self.supervisor, self._outside, self._host.files, self._keeper, specs)
        tasks.start_soon(self._keeper.run)
        return faced

    def _recovered(self, tasks: TaskGroup) -> None:
        tasks.start_soon(self._keeper.settle, lambda: self.supervisor.fleet.agents.values())
