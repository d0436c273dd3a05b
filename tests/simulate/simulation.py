"""A run: a fleet is declared, weather passes over it, then it is left in peace and must recover."""

from __future__ import annotations

import contextlib
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.abc import TaskGroup

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import BackingOff, Desired, Parked, Quarantined, Running, Starting, Stopping
from phoenixd.core.events.orders import StartRequested
from phoenixd.core.spec import AgentSpec, FleetLimits, Kind
from tests.simulate.daemon import Daemon
from tests.simulate.host import Host
from tests.simulate.memory_journal import MemoryJournal
from tests.simulate.promises import Broken
from tests.simulate.storm import Weather, rage
from tests.simulate.virtual_loop import VirtualLoop

HEAL_BOUND = 400.0
"""Virtual seconds from the last fault to a healthy fleet: the longest backoff (300 s), a hung start, a slow kill."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to. digest: a hash over every journal row, the same for the same seed."""

    seed: str
    digest: str
    entries: int
    incarnations: int
    lives: int
    checks: int
    healed_in: float
    seen: Counter[str]


class Broke(AssertionError):
    """A promise did not hold; the message tells seed and story."""


def simulate(seed: str, agents: int, hours: float, weather: Weather) -> Outcome:
    """Run one seed; raises Broke."""
    simulations: list[Simulation] = []

    async def main() -> None:
        simulation = Simulation(seed, fleet_of(agents))
        simulations.append(simulation)
        await simulation.run(weather, hours * 3600)

    failure: BaseException | None = None
    try:
        anyio.run(main, backend_options={"loop_factory": VirtualLoop})
    except (Exception, BaseExceptionGroup, Broken) as error:  # noqa: BLE001 - told again below, with its seed
        failure = error
    (simulation,) = simulations
    breaches = simulation.host.promises.breaches
    if failure is not None or breaches:
        told = breaches[0] if breaches else _with_story(simulation, failure)
        raise Broke(f"seed {seed} ({weather.name}, {agents} agents, {hours:g} h): {told}") from failure
    return simulation.outcome()


def fleet_of(count: int) -> dict[str, AgentSpec]:
    """Residents with hooks, residents that write a heartbeat file, and loop agents, three to one to one."""
    specs = {}
    for number in range(count):
        name = f"agent-{number:02}"
        match number % 5:
            case 3:
                spec = AgentSpec(name, ("work",), "/srv", heartbeat_file="heartbeat.json")
            case 4:
                spec = AgentSpec(name, ("loop",), "/srv", kind=Kind.LOOP, harness="claude", prompt="Do the next item.")
            case _:
                spec = AgentSpec(name, ("claude",), "/srv", harness="claude", prompt="Work through docs/plan.md.")
        specs[name] = spec
    return specs


class Simulation:
    """One host, one fleet, and one daemon after the other."""

    def __init__(self, seed: str, specs: dict[str, AgentSpec]) -> None:
        loop = _running_loop()
        loop.set_exception_handler(self._callback_failed)
        self.seed = seed
        self.specs = specs
        self.host = Host(loop, seed)
        self.host.journal = MemoryJournal(self.host)
        self.daemon: Daemon
        self.lives = 0
        self.healed_in = 0.0
        self._restart_after = 0.0
        self._failures: list[BaseException] = []
        self._scope: anyio.CancelScope

    async def run(self, weather: Weather, seconds: float) -> None:
        """Let it rage for that long, then watch it heal."""
        await self.play(lambda: rage(self, weather, seconds))

    async def play(
        self, story: Callable[[], Awaitable[None]], peace: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Let the story happen, then watch it heal. peace: what comes after that, while a daemon still lives."""
        async with anyio.create_task_group() as tasks:
            self._scope = tasks.cancel_scope
            self._tasks: TaskGroup = tasks
            await tasks.start(self._keep_a_daemon)
            await story()
            await self._heal()
            if peace is not None:
                await peace()
            tasks.cancel_scope.cancel()
        if self._failures:
            raise self._failures[0]

    def kill_daemon(self, down_for: float) -> None:
        """The daemon dies, and its service manager starts another one after a while."""
        if self.daemon.is_alive:
            self._restart_after = down_for
            self.daemon.kill()

    def outcome(self) -> Outcome:
        journal = self.host.journal
        incarnations = sum(agent.incarnation for agent in journal.load().agents)
        return Outcome(
            self.seed, journal.digest, len(journal.entries), incarnations, self.lives, self.host.promises.checks,
            self.healed_in, self.host.seen,
        )  # fmt: skip

    async def _keep_a_daemon(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """The service manager."""
        while True:
            self.lives += 1
            self.daemon = Daemon(self.host, self.specs, FleetLimits())
            with contextlib.suppress(RuntimeError):
                task_status.started()
            await self.daemon.run()
            self.host.seen["daemon life ended"] += 1
            await anyio.sleep(self._restart_after)

    async def _heal(self) -> None:
        """The weather is over: each agent that is wanted must be running within the bound, and nothing else."""
        host = self.host
        host.is_calm = True
        calm_since = host.now
        for shim in host.shims.values():
            if shim.run is not None and shim.run.child.busy_until > host.now:
                shim.run.child.busy_until = host.now
        for process in tuple(host.processes.values()):
            process.busy_until = min(process.busy_until, host.now)
        host.promises.tell("the weather is over")
        while not self.daemon.is_alive or not self.daemon.is_ready:
            await anyio.sleep(1)
        lifted: set[str] = set()
        for name, agent in sorted(self.daemon.supervisor.fleet.agents.items()):
            if agent.desired is Desired.STOPPED and not host.promises.is_stopped(name):
                self.daemon.order(StartRequested(name), name, wants_running=True)
        while ill := self._ill():
            for name, agent in sorted(self.daemon.supervisor.fleet.agents.items()):
                # Once each: a run that began in the storm may still die of it.
                if _is_quarantined(agent) and name not in lifted:
                    lifted.add(name)
                    self.daemon.order(StartRequested(name), name, wants_running=True)
            if host.now - calm_since > HEAL_BOUND:
                raise Broken(f"not healed after {HEAL_BOUND:g} virtual s: {'; '.join(ill)}")
            await anyio.sleep(1)
        self.healed_in = host.now - calm_since
        await anyio.sleep(30)
        host.promises.healed(self.daemon.supervisor.fleet)

    def _ill(self) -> list[str]:
        return [
            f"{name} is {agent.state.name} ({agent.reason})"
            for name, agent in sorted(self.daemon.supervisor.fleet.agents.items())
            if not self._is_well(agent) and not self._passes(agent)
        ]

    def _passes(self, agent: Agent) -> bool:
        """Whether its seat is being handed over, which has deadlines of its own."""
        seat = self.daemon.supervisor.fleet.seats.get(agent.spec.seat)
        return seat is not None and seat.handoff is not None and not seat.handoff.is_over

    def _is_well(self, agent: Agent) -> bool:
        if agent.desired is Desired.STOPPED:
            return not isinstance(agent.state, Starting | Stopping)  # A stop after the iteration lets it run on.
        if isinstance(agent.state, Parked) and agent.parking and agent.parking.until_wall > self.host.wall:
            return True  # Its limit is not over.
        between_iterations = agent.spec.kind is Kind.LOOP and isinstance(agent.state, BackingOff)
        return isinstance(agent.state, Running) or between_iterations

    def _callback_failed(self, loop: Any, context: dict[str, Any]) -> None:
        """A fault in a callback of the loop, ours or theirs, ends the run."""
        error = context.get("exception") or RuntimeError(str(context.get("message")))
        self._failures.append(error)
        self._scope.cancel()


def _with_story(simulation: Simulation, failure: BaseException | None) -> str:
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return "".join(traceback.format_exception(failure)) + simulation.host.promises.story()


def _is_quarantined(agent: Agent) -> bool:
    return isinstance(agent.state, Quarantined)


def _running_loop() -> VirtualLoop:
    import asyncio

    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop
