"""One life of the daemon over the simulated host: composed as phoenixd.daemon composes it, ended as by SIGKILL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import anyio
from anyio.abc import TaskGroup

from phoenixd.core.actions import Action
from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import UsageSeen
from phoenixd.core.events.fleet import TerminalEnded
from phoenixd.core.events.handoffs import HandoffAcked
from phoenixd.core.events.orders import RestartRequested, StopRequested
from phoenixd.core.events.tasks import TaskCancelRequested, TaskRequested
from phoenixd.core.spec import AgentSpec, FleetLimits
from phoenixd.core.tasks.state import Tasks
from phoenixd.drivers.clock import SupervisedClock
from phoenixd.ports import Outside
from phoenixd.ports.journal import Batch, StoredEntry
from phoenixd.ports.papers import Notifier
from phoenixd.ports.processes import ProcessTable
from phoenixd.ports.shims import Records, ShimMessage
from phoenixd.runtime.answers import Answerer
from phoenixd.runtime.hearing import Hearing
from phoenixd.runtime.messages import Messenger
from phoenixd.runtime.publisher import Publisher
from phoenixd.runtime.recovery import recover, relink, restore
from phoenixd.runtime.supervisor import Supervisor
from phoenixd.runtime.world import Faced
from tests.simulate.fakes import (
    SimulatedCleaner,
    SimulatedEvidence,
    SimulatedHandover,
    SimulatedJobs,
    SimulatedLauncher,
    SimulatedNotifier,
    SimulatedProcesses,
    SimulatedRecords,
    SimulatedTranscripts,
    SimulatedWork,
)
from tests.simulate.host import Host, Life
from tests.simulate.links import SimulatedShims
from tests.simulate.performing import StrictPerformer
from tests.simulate.terminal import SimulatedTerminal


@dataclass(frozen=True, slots=True)
class Ports:
    """The outside of one life, as far as a test may want another one."""

    terminal: SimulatedTerminal
    launcher: SimulatedLauncher
    shims: SimulatedShims
    processes: ProcessTable
    records: Records
    notifier: Notifier


class Daemon:
    """Lives from `run` until `kill`. Afterwards nothing that it still does reaches the host."""

    ways: tuple[str, ...] = ()
    """By what its operator is told of alerts."""

    def __init__(self, host: Host, specs: Mapping[str, AgentSpec], limits: FleetLimits) -> None:
        self._host = host
        self._specs = specs
        self._life = Life()
        self._tasks: TaskGroup | None = None
        self.is_ready = False
        saved = host.journal.load()
        clock = SupervisedClock(
            saved.at, dice=Random(host.dice.getrandbits(64)), monotonic=host.loop.time, wall=lambda: host.wall
        )
        self._clock = clock
        ports = self._ports(self._life)
        terminal, launcher, shims = ports.terminal, ports.launcher, ports.shims
        processes, records = ports.processes, ports.records
        evidence = SimulatedEvidence(self._life, lambda event: self.supervisor.tell(event))
        host.heartbeat = evidence.beat
        host.terminal_ended = self._lost_its_terminal
        host.daemons += 1
        host.project.spent, host.project.acknowledge, host.project.ask = self._spent, self._acknowledge, self._take_task
        self._outside = Outside(
            clock=clock,
            journal=host.journal,
            terminal=terminal,
            shims=shims,
            processes=processes,
            starter=launcher,
            papers=launcher,
            screens=launcher,
            records=records,
            evidence=evidence,
            transcripts=SimulatedTranscripts(),
            notifier=ports.notifier,
            work=SimulatedWork(host),
            cleaner=SimulatedCleaner(),
            handover=SimulatedHandover(host),
            jobs=SimulatedJobs(host),
        )
        answerer = Answerer(self._find, terminal, shims, launcher, self._outside.transcripts, clock)
        messenger = Messenger(
            terminal, launcher, self._outside.transcripts, clock, self._find, lambda event: self.supervisor.tell(event)
        )
        self.supervisor = Supervisor(
            restore(saved, dict(specs), limits, ways=self.ways),
            clock,
            host.journal,
            self._dispatch,
            [self._turned],
            remember=self._remember,
        )
        self._hearing = Hearing(
            shims, processes, records, clock, self._find, self.supervisor.tell,
            later=host.later,
            heard=messenger.heard,
            greeted=self._greeted,
        )  # fmt: skip
        self._performer = StrictPerformer(
            host.promises, self._life,
            self._outside, self._find, self.supervisor.tell, self._hearing, messenger, answerer, self._tasks_now,
        )  # fmt: skip
        self._publisher = Publisher(launcher, evidence, clock)
        host.promises.restored(self.supervisor.fleet)

    @property
    def is_alive(self) -> bool:
        return not self._life.is_over

    def _ports(self, life: Life) -> Ports:
        host, launcher = self._host, SimulatedLauncher(self._host)
        shims = SimulatedShims(host, life, self._hear, launcher.order)
        processes, records = SimulatedProcesses(host, life), SimulatedRecords(host)
        return Ports(SimulatedTerminal(host), launcher, shims, processes, records, SimulatedNotifier(host))

    def _lost_its_terminal(self) -> None:
        if not self._life.is_over:
            self.supervisor.tell(TerminalEnded())

    def _remember(self, batch: Batch, is_order: bool, is_saved: bool) -> anyio.Event | None:
        """Keep outside the journal what a turn decided; this host keeps nothing there."""
        return None

    async def _face(self, tasks: TaskGroup) -> Faced | None:
        """Look at the world beside the journal: here there is none. What seats wait for is ordered anew."""
        fleet = self.supervisor.fleet
        if not fleet.seats:
            return None
        runs = frozenset(agent.run.run_id for agent in fleet.agents.values() if agent.run is not None)
        return Faced(fleet.epoch, False, runs=runs)

    def _recovered(self, tasks: TaskGroup) -> None:
        """What else begins once the journal and the living have met."""

    async def run(self) -> None:
        """Recover, then supervise until killed."""
        async with anyio.create_task_group() as self._tasks:
            faced = await self._face(self._tasks)
            for part in (self.supervisor, self._performer, self._publisher):
                self._tasks.start_soon(part.run)
            await recover(self.supervisor, self._outside, self._hearing, self._specs.values(), faced)
            self._recovered(self._tasks)
            self.is_ready = True

    def kill(self) -> None:
        """SIGKILL: between two instructions, with whatever was under way."""
        self._life.is_over = True
        self._host.journal.crash()
        for shim in tuple(self._host.shims.values()):
            shim.cut()
        if self._tasks is not None:
            self._tasks.cancel_scope.cancel()

    def order(self, event: Event, agent: str, wants_running: bool | None = None) -> None:
        """An operator asks; what is acknowledged binds from then on. None: an order that changes nothing lasting."""

        after_iteration = isinstance(event, StopRequested) and event.after_iteration

        async def ask() -> None:
            refusal = await self.supervisor.ask(event)
            self._host.at_point("answered")
            if refusal is None and wants_running is not None and not self._life.is_over:
                found = self._find(agent)
                may_begin = found.incarnation if found is not None and after_iteration else 0
                self._host.promises.operator_was_answered(agent, wants_running, may_begin, place)
            if refusal is None and wants_running is not None:
                self._host.ledger.wanted(agent, after_iteration)
            if refusal is None and isinstance(event, StopRequested | RestartRequested) and not after_iteration:
                self._note_order(agent, isinstance(event, StopRequested))

        if self._life.is_over or not self.is_ready or self._tasks is None:
            return
        place = 0 if wants_running is None else self._host.promises.operator_asks(agent, wants_running)
        self._tasks.start_soon(ask)

    def _spent(self, agent: str, incarnation: int, session: str) -> None:
        """A transcript has grown, and is read as soon as a daemon lives."""
        if self.is_ready and not self._life.is_over:
            tokens = self._host.project.tokens[session]
            seen = UsageSeen(agent, incarnation, tokens, None, "transcript", self._host.wall, session)
            self.supervisor.tell(seen)

    def _acknowledge(self, event: HandoffAcked) -> None:
        """The verb of an agent: who answers a dead daemon's socket is nobody."""
        if self.is_ready:
            self.order(event, event.agent)

    def _take_task(self, event: TaskRequested) -> None:
        if self.is_ready:
            self.ask(event, self._host.project.taken.add)

    def ask(self, event: TaskRequested | TaskCancelRequested, acknowledged: Callable[[str], object]) -> None:
        """Somebody asks for a task, or wants one ended; what is acknowledged binds, by the key of the request."""

        async def ask() -> None:
            refusal = await self.supervisor.ask(event)
            if refusal is None and isinstance(event, TaskRequested) and not self._life.is_over:
                acknowledged(event.key)

        if not self._life.is_over and self._tasks is not None:
            self._tasks.start_soon(ask)

    def _dispatch(self, action: Action) -> None:
        self._host.at_point("acting")
        if not self._life.is_over:
            self._performer.submit(action)
            self._host.at_point("acted")

    def _note_order(self, agent: str, to_stop: bool) -> None:
        shim = self._host.shims.get(agent)
        if shim is not None and shim.run is not None and shim.run.how is None:
            self._host.ledger.asked(agent, shim.run.incarnation)
        if to_stop:
            self._host.ledger.down(agent)

    def _tasks_now(self) -> Tasks:
        return self.supervisor.fleet.tasks

    def _find(self, name: str) -> Agent | None:
        return self.supervisor.fleet.agents.get(name)

    def _hear(self, message: ShimMessage) -> None:
        self._hearing.hear(message)

    def _greeted(self, name: str) -> None:
        if self._tasks is not None:
            self._tasks.start_soon(relink, name, self._find, self._outside.shims, self._hearing, self._clock)

    def _turned(self, entries: Sequence[StoredEntry], changed: Sequence[Agent]) -> None:
        if self._life.is_over:
            return
        is_behind = self.supervisor.saver.is_behind
        self._host.promises.turn_saved(self.supervisor.fleet, entries, changed, is_behind)
        self._publisher.hear(entries, changed)
