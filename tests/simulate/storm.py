"""What goes wrong from outside, and what operators ask meanwhile: at seeded instants, until the storm is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from phoenixd.core.agent.state import Quarantined, Stopped
from phoenixd.core.events.orders import RestartRequested, SendRequested, StartRequested, StopRequested
from tests.simulate.host import Host

if TYPE_CHECKING:
    from tests.simulate.shim import Shim
    from tests.simulate.simulation import Simulation


@dataclass(frozen=True, slots=True)
class Weather:
    """How often, in mean seconds, and how heavy each kind of misfortune is against the others."""

    name: str
    fault_every: float
    order_every: float


DAY = Weather("day", fault_every=1200.0, order_every=900.0)
NIGHT = Weather("night", fault_every=1e9, order_every=900.0)
"""Nothing fails but the agents themselves."""
STORM = Weather("storm", fault_every=20.0, order_every=45.0)

FAULTS = {
    "agent killed": 20,
    "descendant killed": 5,
    "shim killed": 10,
    "link cut": 10,
    "all links cut": 2,
    "terminal server killed": 4,
    "journal fails": 6,
    "journal dawdles": 5,
    "daemon killed": 12,
    "daemon killed twice": 3,
    "daemon killed while the journal fails": 3,
    "agent ends unwatched": 4,
    "host rebooted": 1,
}


async def rage(simulation: Simulation, weather: Weather, seconds: float) -> None:
    """Strike for that long."""
    host = simulation.host
    end = host.now + seconds
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(strike_until, simulation, weather, end)
        tasks.start_soon(_order_until, simulation, weather, end)


async def strike_until(simulation: Simulation, weather: Weather, end: float) -> None:
    host = simulation.host
    while True:
        pause = host.dice.expovariate(1 / weather.fault_every)
        if host.now + pause > end:
            await anyio.sleep(max(0.0, end - host.now))
            return
        await anyio.sleep(pause)
        (fault,) = host.dice.choices(list(FAULTS), list(FAULTS.values()))
        host.seen[f"fault: {fault}"] += 1
        host.promises.tell(f"fault: {fault}")
        await _strike(simulation, host, fault)


async def _strike(simulation: Simulation, host: Host, fault: str) -> None:
    dice = host.dice
    shims = [host.shims[name] for name in sorted(host.shims)]
    match fault:
        case "agent killed":
            running = [shim.run.child for shim in shims if shim.run is not None]
            if running:
                host.kill(dice.choice(running))
        case "descendant killed":
            children = [shim.run.child for shim in shims if shim.run is not None]
            others = [p for p in host.processes.values() if p.run_id and p not in children]
            if others:
                host.kill(dice.choice(others))
        case "shim killed":
            if shims:
                dice.choice(shims).die()
        case "link cut":
            if shims:
                dice.choice(shims).cut()
        case "all links cut":
            for shim in shims:
                shim.cut()
        case "terminal server killed":
            host.lose_terminal()
        case "journal fails":
            host.journal.fails_until = host.now + dice.expovariate(1 / 10)
        case "journal dawdles":
            host.journal.slow_until = host.now + dice.expovariate(1 / 10)
        case "daemon killed":
            simulation.kill_daemon(dice.expovariate(1 / 5))
        case "daemon killed twice":
            simulation.kill_daemon(0.05)
            await anyio.sleep(0.05 + dice.uniform(0, 0.1))
            simulation.kill_daemon(dice.uniform(0, 60))
        case "daemon killed while the journal fails":
            host.journal.fails_until = host.now + 60
            for shim in shims[: dice.randrange(4)]:
                shim.die()
            await anyio.sleep(dice.uniform(2, 20))
            simulation.kill_daemon(dice.uniform(0, 10))
            host.journal.fails_until = 0.0
        case "agent ends unwatched":
            simulation.kill_daemon(dice.uniform(2, 10))
            busy = [shim for shim in shims if shim.run is not None]
            if busy:
                _end_unwatched(host, dice.choice(busy))
        case "host rebooted":
            simulation.kill_daemon(dice.uniform(20, 120))
            host.reboot()
        case _:
            raise ValueError(fault)


def _end_unwatched(host: Host, shim: Shim) -> None:
    """An agent ends with 0 while no daemon lives; its shim may die before the next one can ask it."""
    assert shim.run is not None
    shim.end(shim.run, 0, None, "exit")
    if host.dice.random() < 0.5:
        host.later(0.1, shim.die)


async def _order_until(simulation: Simulation, weather: Weather, end: float) -> None:
    host = simulation.host
    while True:
        pause = host.dice.expovariate(1 / weather.order_every)
        if host.now + pause > end:
            return
        await anyio.sleep(pause)
        _order(simulation, host)


def _order(simulation: Simulation, host: Host) -> None:
    """What an operator does: mostly helps up what is down, sometimes stops, restarts or talks to one that runs."""
    daemon = simulation.daemon
    if not daemon.is_alive or not daemon.is_ready:
        return
    agents = daemon.supervisor.fleet.agents
    down = sorted(name for name, agent in agents.items() if isinstance(agent.state, Stopped | Quarantined))
    if down and host.dice.random() < 0.6:
        name = host.dice.choice(down)
        daemon.order(StartRequested(name), name, wants_running=True)
        return
    name = host.dice.choice(sorted(agents))
    match host.dice.randrange(4):
        case 0:
            daemon.order(StopRequested(name), name, wants_running=False)
        case 1:
            daemon.order(RestartRequested(name, fresh=host.dice.random() < 0.5), name, wants_running=True)
        case 2:
            daemon.order(SendRequested(name, f"m{host.hooks_sent}", "please go on"), name)
        case _:
            daemon.order(StopRequested(name, after_iteration=True), name, wants_running=False)
