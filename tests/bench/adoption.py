"""A daemon that restarts under a living fleet: its CPU until it has adopted all agents and is quiet again.

Nothing is asked of it meanwhile: the rows of a thousand agents would cost it as much as a part of their adoption.
"""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path

from tests.bench.arena import NoCompiler, cpu_seconds, memory_mib
from tests.bench.peers import Phoenixd
from tests.bench.race import Runner, racing, settle
from tests.bench.scale import Scale

ADOPTION = 5.0
"""Seconds of the daemon's CPU in which it has adopted 1,000 agents."""
FLEET = 300
RESTARTS = 3
LONGEST = 600.0


def report(scale: Scale) -> bool:
    """Print what each of some restarts costs under one agent and under a fleet; whether all of it ran."""
    return all([_report(agents) for agents in ((2,) if scale.quick else (1, FLEET))])


def _report(agents: int) -> bool:
    try:
        with racing(["phoenixd"], agents) as (runner,):
            if runner.not_run:
                raise TimeoutError(runner.not_run)
            assert isinstance(runner.peer, Phoenixd)
            settle(runner, LONGEST)
            print(f"\n{agents:5} agents{'adopted, s':>16}{'CPU, s':>12}{'of the loop':>14}{'PSS, MiB':>12}")
            for number in range(RESTARTS):
                took, cpu = restart(runner, runner.peer)
                _, pss = memory_mib(runner.peer.own_pids())
                print(f"restart {number + 1:<4}{took:>16.1f}{cpu:>12.2f}{_of_the_loop(runner.peer):>14.2f}{pss:>12.1f}")
            return True
    except (NoCompiler, TimeoutError) as reason:
        print(f"not run: {reason}")
        return False


def restart(runner: Runner, peer: Phoenixd) -> tuple[float, float]:
    """Seconds until all are adopted, and the new daemon's CPU until it has settled."""
    peer.stage.kill()
    known, began = peer.stage.log.stat().st_size, time.time()
    peer.stage.up(wait=False)
    peer.stage.until("all are adopted", lambda: len(_adopted(peer.stage.log, known)) == len(runner.names), LONGEST)
    settle(runner, LONGEST)
    cpu = cpu_seconds(peer.own_pids())
    rows = peer.stage.rows().values()
    if sum(row["state"] == "running" for row in rows) < len(runner.names) or runner.births.collect(1, 0):
        raise TimeoutError("a restart of the daemon left agents behind, or started them anew")
    return max(_adopted(peer.stage.log, known)) - began, cpu


def _adopted(log: Path, known: int) -> list[float]:
    """When each agent was adopted (wall), as the daemon's log has it behind what was known of it."""
    with log.open("rb") as file:
        file.seek(known)
        lines = [json.loads(line) for line in file.read().split(b"\n")[:-1] if b'"run_adopted"' in line]
    return [datetime.fromisoformat(line["time"]).timestamp() for line in lines]


def _of_the_loop(peer: Phoenixd) -> float:
    """CPU seconds of the daemon's main thread."""
    (pid,) = peer.own_pids()
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9
