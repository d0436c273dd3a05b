"""1,000 agents beside 100: what does not grow with the fleet costs as much for each agent. Only when asked.

Idle in silence is the one figure that must not grow at all, so that it falls for each agent.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from tests.bench import adoption
from tests.bench.arena import Figures, NoCompiler, cpu_seconds
from tests.bench.peers import Phoenixd
from tests.bench.race import Runner, idle, race, racing, settle
from tests.bench.scale import Scale

SIZES = (100, 1000)
FLAT = 1.5


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds; CPU is the daemon's. The last three are of one death and of memory, in ms and MiB."""

    start: float
    start_cpu: float
    beating_cpu: float
    silent_cpu: float
    restart: float
    restart_cpu: float
    death: Figures
    death_cpu: float
    rss: float


def report(scale: Scale) -> bool:
    """Print each figure of both sizes, for each agent, and how much it grew."""
    sizes = (2, 4) if scale.quick else SIZES
    try:
        costs = [measure(agents, scale) for agents in sizes]
    except (NoCompiler, TimeoutError) as reason:
        print(f"not run: {reason}")
        return False
    few, many = costs
    print(f"\n{'':44}{sizes[0]:>8}{sizes[1]:>8} agents")
    _row("start, ms an agent", *(1000 * one.start / size for one, size in zip(costs, sizes, strict=True)))
    _row("start, CPU ms an agent", *(1000 * one.start_cpu / size for one, size in zip(costs, sizes, strict=True)))
    _row("heartbeats, CPU ms a minute an agent", *_each(few.beating_cpu, many.beating_cpu, sizes))
    _row("silence, CPU ms a minute an agent", *_each(few.silent_cpu, many.silent_cpu, sizes))
    _row("restart of the daemon, ms an agent", *_each(few.restart, many.restart, sizes))
    _row("restart of the daemon, CPU ms an agent", *_each(few.restart_cpu, many.restart_cpu, sizes))
    _row("one death, median ms", few.death.median, many.death.median)
    _row("one death, p90 ms", few.death.p90, many.death.p90)
    _row("one death, CPU ms of daemon and shims", few.death_cpu, many.death_cpu)
    _row("memory, RSS in MiB an agent", *(one.rss / size for one, size in zip(costs, sizes, strict=True)))
    print(f"the daemon's CPU until all were adopted: {few.restart_cpu:.1f} s and {many.restart_cpu:.1f} s "
          f"(aim: {adoption.ADOPTION:g} s), memory {few.rss:.0f} and {many.rss:.0f} MiB")  # fmt: skip
    return True


def _each(few: float, many: float, sizes: tuple[int, int]) -> tuple[float, float]:
    return 1000 * few / sizes[0], 1000 * many / sizes[1]


def _row(name: str, few: float, many: float) -> None:
    growth = many / few if few > 0 else float("nan")
    print(f"{name:44}{few:>8.2f}{many:>8.2f}   {growth:.2f} x{'' if growth <= FLAT else f' (flat is {FLAT:g} x)'}")


def measure(agents: int, scale: Scale) -> Cost:
    began = time.monotonic()
    with racing(["phoenixd"], agents) as (runner,):
        if runner.not_run:
            raise TimeoutError(runner.not_run)
        assert isinstance(runner.peer, Phoenixd)
        start = max(birth.at for birth in runner.births.newest.values()) - began
        settle(runner, adoption.LONGEST)
        start_cpu = _cpu(runner)
        race([runner], scale.kills, 0, 0)
        settle(runner, adoption.LONGEST)
        idle([runner], scale.seconds, adoption.LONGEST)
        restart, restart_cpu = adoption.restart(runner, runner.peer)
    return Cost(
        start, start_cpu, runner.beating_cpu or 0.0, runner.silent_cpu or 0.0, restart, restart_cpu,
        runner.restart, runner.kill_cpu / max(1, len(runner.restart.samples)), runner.rss,
    )  # fmt: skip


def _cpu(runner: Runner) -> float:
    return cpu_seconds(runner.peer.own_pids())
