"""Tasks under storms: each is done once, none is lost, and what failed says why (E58, E59, promise 1).

A worker in a storm dies, hangs, meets limits and loses its shim as every agent does; the daemon is killed meanwhile,
also between the end of a worker and the collection of what it left.
"""

from __future__ import annotations

import anyio
import pytest

from phoenixd.core.events.tasks import TaskCancelRequested, TaskRequested
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.core.tasks.state import Task
from tests.simulate.promises import Broken
from tests.simulate.simulation import Simulation
from tests.simulate.storm import Weather, strike_until
from tests.simulate.virtual_loop import VirtualLoop

BOSS = AgentSpec("boss", ("claude",), "/srv", Kind.ORCHESTRATOR, "claude", prompt="Lead.", seat="boss", generation=1)
WEATHER = Weather("tasks", fault_every=90.0, order_every=1e9)
SETTLED = 6 * 3600.0
"""Virtual seconds after the storm in which every task has come to its end: its runs, timeouts and pauses."""


class Tasks:
    """What was asked for, and what the fleet says of it; a request that was acknowledged binds."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation, self.host = simulation, simulation.host
        self.taken: set[str] = set()
        self.asked = 0

    @property
    def all(self) -> tuple[Task, ...]:
        tasks = self.simulation.daemon.supervisor.fleet.tasks
        return (*tasks.open, *tasks.ended)

    async def hand_out(self, seconds: float) -> None:
        """One now and then, some in places of their own, some after another one; some are canceled."""
        end = self.host.now + seconds
        while self.host.now < end:
            await anyio.sleep(self.host.dice.uniform(10, 240))
            daemon = self.simulation.daemon
            if daemon.is_alive and daemon.is_ready:
                daemon.ask(self._request(), self.taken.add)

    def _request(self) -> TaskRequested | TaskCancelRequested:
        dice, waiting = self.host.dice, [one.id for one in self.all if not one.has_ended]
        if waiting and dice.random() < 0.1:
            return TaskCancelRequested(dice.choice(waiting))
        self.asked += 1
        after = (dice.choice(waiting),) if waiting and dice.random() < 0.3 else ()
        key, place = f"k{self.asked}", f"/srv/{dice.randrange(3)}"
        return TaskRequested(BOSS, "Do it.", key, "boss", after=after, place=place, timeout=1800.0)

    async def settle(self) -> None:
        """The weather is over: wait until every task has ended."""
        self.host.is_calm = True
        give_up = self.host.now + SETTLED
        while any(not one.has_ended for one in self.all) or not self.simulation.daemon.is_ready:
            if self.host.now > give_up:
                raise Broken("; ".join(f"{one.id} is {one.state}: {one.why}" for one in self.all if not one.has_ended))
            await anyio.sleep(10)


def play(seed: str, hours: float = 1.0) -> Tasks:
    played: list[Tasks] = []

    async def main() -> None:
        simulation = Simulation(seed, {"boss": BOSS})
        tasks = Tasks(simulation)
        played.append(tasks)

        async def story() -> None:
            end = simulation.host.now + hours * 3600
            async with anyio.create_task_group() as group:
                group.start_soon(strike_until, simulation, WEATHER, end)
                group.start_soon(tasks.hand_out, hours * 3600)
            await tasks.settle()

        await simulation.play(story)

    anyio.run(main, backend_options={"loop_factory": VirtualLoop})
    return played[0]


@pytest.mark.parametrize("seed", [f"tasks-{number}" for number in range(4)])
def test_each_task_is_done_once_and_none_is_lost(seed: str) -> None:
    tasks = play(seed)
    known = {one.key: one for one in tasks.all}
    assert tasks.taken <= known.keys(), "an acknowledged task is lost"
    assert len(tasks.taken) > 5
    for task in known.values():
        finished = tasks.host.finished[task.agent]
        assert task.has_ended
        assert task.why
        assert finished <= 1, f"{task.id} is done {finished} times"
    assert sum(one.state == "done" for one in known.values()) > len(known) / 4
    agents = tasks.simulation.daemon.supervisor.fleet.agents
    assert set(agents) == {"boss"}, "a worker is left over"
