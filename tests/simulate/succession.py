"""Seats under storms: what is asked of them meanwhile, and how the fleet comes to rest when the weather is over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Quarantined, Running, Stopped
from phoenixd.core.events.handoffs import HandoffAcked
from phoenixd.core.events.orders import (
    HandoffRequested,
    RestartRequested,
    RollbackRequested,
    SendRequested,
    StartRequested,
    StopRequested,
)
from phoenixd.core.events.tasks import TaskCancelRequested
from phoenixd.core.handoff import triggers
from phoenixd.core.meter import parts as meters
from phoenixd.core.meter.reading import read
from phoenixd.core.rules import ContextRules, HandoffRules
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.core.transitions import TOO_LONG
from tests.simulate.orchestrator import Orchestrator
from tests.simulate.project import WINDOW
from tests.simulate.promises import Broken
from tests.simulate.simulation import Broke, Simulation, _with_story
from tests.simulate.storm import Weather, strike_until
from tests.simulate.virtual_loop import VirtualLoop

SEATS = ("boss", "chief")
WEATHER = Weather("succession", fault_every=90.0, order_every=30.0)
SETTLED = 6 * 3600.0
"""Virtual seconds after the storm in which each handoff and each task has come to its end."""
ORDERS = {
    "hand over": 6, "send": 12, "fill": 6, "overfill": 1, "call off": 1, "stop": 1, "start": 2, "restart": 1,
    "ack of the predecessor": 1, "cancel a task": 1, "tamper": 1,
}  # fmt: skip


def seats() -> dict[str, AgentSpec]:
    return {
        name: AgentSpec(
            name, ("claude",), f"/srv/{name}", Kind.ORCHESTRATOR, "claude", prompt="Lead.", project=name,
            context=ContextRules(limit=WINDOW), handoff=HandoffRules(drain=180.0, ack=120.0, spacing=120.0),
        )
        for name in SEATS
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sum:
    """What a seed came to."""

    seed: str
    handoffs: Counter[str]
    tasks: Counter[str]
    letters: int
    lives: int
    checks: int
    seen: Counter[str]


def succeed(seed: str, hours: float, weather: Weather = WEATHER) -> Sum:
    """Run one seed; raises Broke."""
    played: list[Succession] = []

    async def main() -> None:
        played.append(Succession(seed, hours, weather))
        await played[0].play()

    failure: BaseException | None = None
    try:
        anyio.run(main, backend_options={"loop_factory": VirtualLoop})
    except (Exception, BaseExceptionGroup, Broken) as error:  # noqa: BLE001 - told again below, with its seed
        failure = error
    (one,) = played
    breaches = one.host.promises.breaches
    if failure is not None or breaches:
        told = breaches[0] if breaches else _with_story(one.simulation, failure)
        raise Broke(f"seed {seed} ({weather.name}, {hours:g} h): {told}") from failure
    return one.sum()


class Succession:
    """Two seats, the orders that operators and their own sessions give, and the peace afterwards."""

    def __init__(self, seed: str, hours: float, weather: Weather = WEATHER) -> None:
        self.simulation = Simulation(seed, seats())
        self.host = self.simulation.host
        self._seconds, self._weather = hours * 3600, weather
        self._sent = 0

    async def play(self, story: Callable[[], Awaitable[None]] | None = None) -> None:
        await self.simulation.play(story or self._story, self.settle)

    async def _story(self) -> None:
        end = self.host.now + self._seconds
        async with anyio.create_task_group() as group:
            group.start_soon(strike_until, self.simulation, self._weather, end)
            group.start_soon(self._order_until, end)
        await anyio.sleep(10)  # The last order has its answer before anybody puts all right.

    # --- orders ------------------------------------------------------------------------------------------------------

    async def _order_until(self, end: float) -> None:
        dice = self.host.dice
        while self.host.now < end:
            await anyio.sleep(dice.expovariate(1 / self._weather.order_every))
            daemon = self.simulation.daemon
            if daemon.is_alive and daemon.is_ready:
                (what,) = dice.choices(list(ORDERS), list(ORDERS.values()))
                self.order(what, dice.choice(SEATS))

    def order(self, what: str, seat: str) -> None:
        """One order to a seat, or a mishap of its holder's."""
        daemon, dice = self.simulation.daemon, self.host.dice
        self.host.seen[f"order: {what}"] += 1
        self.host.promises.tell(f"order: {what} {seat}")
        match what:
            case "hand over":
                daemon.order(HandoffRequested(seat), seat)
            case "call off":
                daemon.order(RollbackRequested(seat), seat)
            case "stop":
                daemon.order(StopRequested(seat), seat, wants_running=False)
            case "start":
                holder = daemon.supervisor.fleet.agents.get(self._holder_name(seat) or "")
                # An operator's start does not wait for a limit; here nobody is in such a hurry.
                if holder is not None and isinstance(holder.state, Stopped | Quarantined):
                    daemon.order(StartRequested(seat), seat, wants_running=True)
            case "restart":
                daemon.order(RestartRequested(seat, fresh=dice.random() < 0.5), seat, wants_running=True)
            case "send":
                self._sent += 1
                daemon.order(SendRequested(seat, f"m{self._sent}", f"text {self._sent}"), seat)
            case "fill" | "overfill":
                if (program := self.holder(seat)) is not None:
                    program.fill(dice.uniform(0.985, 1.0) if what == "overfill" else dice.uniform(0.88, 0.96))
            case "ack of the predecessor":
                package, holder = self.host.project.packages.get(seat), self._holder_name(seat)
                if package is not None and holder is not None:
                    word = HandoffAcked(holder, package.hash, package.word, package.facts)
                    daemon.order(word, seat)
            case "cancel a task":
                waiting = [one.id for one in daemon.supervisor.fleet.tasks.open if not one.has_ended]
                if waiting:
                    daemon.order(TaskCancelRequested(dice.choice(waiting)), seat)
            case "tamper":
                if (package := self.host.project.packages.get(seat)) is not None:
                    package.tampered = True
            case _:
                raise ValueError(what)

    def _holder_name(self, seat: str) -> str | None:
        known = self.simulation.daemon.supervisor.fleet.seats.get(seat)
        return known.holder if known is not None else None

    def holder(self, seat: str) -> Orchestrator | None:
        """What runs of the generation that holds a seat."""
        shim = self.host.shims.get(self._holder_name(seat) or "")
        program = shim.run.program if shim is not None and shim.run is not None else None
        return program if isinstance(program, Orchestrator) else None

    # --- peace -------------------------------------------------------------------------------------------------------

    async def settle(self) -> None:
        """The fleet is healed: wait until no handoff goes on, none is due, and every task has ended, and all is saved.

        What is decided and not saved would be taken for done here, and is not to be found in the journal.
        """
        give_up = self.host.now + SETTLED
        while restless := self._restless():
            if self.host.now > give_up:
                raise Broken(f"after {SETTLED:.0f} virtual s: {'; '.join(restless)}")
            self._come_when_called()
            await anyio.sleep(10)
        self._hold_at_the_end()

    def _come_when_called(self) -> None:
        """A person does what the alert says: where sessions fill one after the other, nothing goes on without one."""
        daemon = self.simulation.daemon
        if not daemon.is_alive or not daemon.is_ready:
            return
        fleet = daemon.supervisor.fleet
        for seat in fleet.seats.values():
            holder = fleet.agents.get(seat.holder)
            activity = holder.activity if holder is not None else None
            if activity is None or activity.waiting is None or activity.waiting.kind != TOO_LONG:
                continue
            is_passing = seat.handoff is not None and not seat.handoff.is_over
            self.order("call off" if is_passing else "restart", seat.name)

    def _restless(self) -> list[str]:
        daemon = self.simulation.daemon
        if not daemon.is_alive or not daemon.is_ready:
            return ["no daemon"]
        if daemon.supervisor.saver.is_behind:
            return ["what was decided is not saved"]
        fleet = daemon.supervisor.fleet
        found = [f"{one.id} is {one.state}: {one.why}" for one in fleet.tasks.open if not one.has_ended]
        for seat in fleet.seats.values():
            handoff, holder = seat.handoff, fleet.agents.get(seat.holder)
            if handoff is not None and not handoff.is_over:
                found.append(f"handoff {handoff.id} is at {handoff.step}: {handoff}")
            elif holder is not None and self._is_due(holder) and triggers.may_begin(handoff):
                found.append(f"{holder.name} is full, and no handoff begins")
            if handoff is not None and holder is not None and handoff.letters and self._can_read(holder):
                found.append(f"{len(handoff.letters)} texts wait for {holder.name}")
        return found

    def _is_due(self, holder: Agent) -> bool:
        is_up = isinstance(holder.state, Running) and holder.desired is Desired.RUNNING
        return is_up and read(meters.of(holder), holder.spec.context).verdict == "HANDOFF"

    def _can_read(self, holder: Agent) -> bool:
        is_up = isinstance(holder.state, Running) and holder.parking is None
        return is_up and isinstance(holder.state, Running) and holder.state.activity.waiting is None

    def _hold_at_the_end(self) -> None:
        host, fleet = self.host, self.simulation.daemon.supervisor.fleet
        watch, hold = host.seats, host.promises.hold
        hold(
            watch.begun.keys() == watch.ended.keys(), f"handoffs never ended: {watch.begun.keys() - watch.ended.keys()}"
        )
        holders = {seat.holder for seat in fleet.seats.values()}
        hold(set(fleet.agents) == holders, f"{set(fleet.agents) - holders} are left over")
        known = {one.key: one for one in (*fleet.tasks.open, *fleet.tasks.ended)}
        hold(host.project.taken <= known.keys(), f"acknowledged tasks are lost: {host.project.taken - known.keys()}")
        for task in known.values():
            hold(task.has_ended and bool(task.why), f"{task.id} never ended: {task.why}")
            hold(host.finished[task.agent] <= 1, f"{task.id} is done {host.finished[task.agent]} times")
        watch.check_letters()

    def sum(self) -> Sum:
        watch, fleet = self.host.seats, self.simulation.daemon.supervisor.fleet
        steps = Counter(str(one.value) for one in watch.ended.values())
        tasks = Counter(one.state for one in (*fleet.tasks.open, *fleet.tasks.ended))
        return Sum(
            self.simulation.seed, steps, Counter({str(state): count for state, count in tasks.items()}),
            len(watch.kept), self.simulation.lives, self.host.promises.checks, self.host.seen,
        )  # fmt: skip
