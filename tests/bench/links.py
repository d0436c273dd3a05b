"""A flood at the daemon's links: 20,000 events a second as 100 shims send them, and orders meanwhile.

No agent and no shim takes part: one cheap process speaks for all shims (`link_talkers.py`), so that it is the daemon
that is measured, and a processor is free for the client that orders.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from phoenixd.demo.stage import Stage
from tests.bench.arena import cpu_seconds
from tests.bench.heard import lost, waited
from tests.bench.marked.starting import mark
from tests.bench.orders import asking, heard, print_orders, read_marks
from tests.bench.scale import Scale
from tests.bench.weights import join, weighed

AGENTS, RATE, SECONDS = 100, 20_000, 10.0


def report(scale: Scale) -> bool:
    """Print what came of it: as any session's daemon, and with the share that the service has."""
    return all([_report(scale, as_service=False), _report(scale, as_service=True)])


def _report(scale: Scale, *, as_service: bool) -> bool:
    agents, rate, seconds = (4, 400, 2.0) if scale.quick else (AGENTS, RATE, SECONDS)
    with tempfile.TemporaryDirectory(prefix="phx-bench-") as directory:
        with (
            talking(Path(directory), agents, rate, seconds) as (stage, talkers),
            contextlib.ExitStack() as meanwhile,
        ):
            assert stage.process is not None
            assert talkers.stdin is not None
            assert talkers.stdout is not None
            weights = weighed("phx-bench-links", [stage.process.pid], [talkers.pid])
            operator = meanwhile.enter_context(weights) if as_service else None
            if as_service and operator is None:
                print("\nnot measured with the service's CPUWeight=1000: this host lets no group be made")
                return True
            quiet = heard(asking(stage, 2.0 if scale.quick else 4.0))
            parties = {"daemon": [stage.process.pid], "shims": [talkers.pid]}
            before = {name: cpu_seconds(pids) for name, pids in parties.items()}
            began, starved = time.monotonic(), waited(stage.process.pid)
            client = asking(stage, seconds)
            if operator is not None:
                join(operator, [client.pid])
            print("go", file=talkers.stdin, flush=True)
            told = json.loads(talkers.stdout.readline())
            took, starved = time.monotonic() - began, waited(stage.process.pid) - starved
            cpu = {name: cpu_seconds(pids) - before[name] for name, pids in parties.items()}
            orders = heard(client)
            missing: int = lost(stage, told["deciding"]) + told["unsent"]
            marks = read_marks(stage.root / "marks")
    events = told["events"]
    share = ", with the service's CPUWeight=1000" if as_service else ""
    print(f"\n{rate} events a second at the daemon's links from {agents} shims for {seconds:.0f} s{share}")
    print(
        f"sent {events / took:.0f} a second in {told['packets'] / took:.0f} packets; the shims merged {told['merged']}"
    )
    print(f"the daemon's CPU: {cpu['daemon']:.1f} s, {1e6 * cpu['daemon'] / max(1, events):.0f} us an event")
    shares = ", ".join(f"{name} {seconds / took:.2f}" for name, seconds in cpu.items())
    print(f"cores: {shares} of {os.cpu_count()}; the daemon's loop waited {starved / took:.0%} of the time for one")
    print_orders(quiet, orders, marks)
    print(f"of {sum(told['deciding'].values())} that decide, not journaled: {missing}")
    return missing == 0


@contextlib.contextmanager
def talking(root: Path, agents: int, rate: int, seconds: float) -> Iterator[tuple[Stage, subprocess.Popen[str]]]:
    """A daemon that finds a shim of each agent already there, and has started a run at each."""
    stage = Stage(root / "phoenixd")
    mark(stage, "ordered_daemon", stage.root / "marks")
    for number in range(agents):
        name = f"a{number:03}"
        stage.declare(name, f'[agent.{name}]\nharness = "claude"\nargv = ["/bin/sleep", "100000"]\ncwd = "/"\n')
    argv = [sys.executable, "-m", "tests.bench.link_talkers", str(stage.runtime), str(agents), str(rate), str(seconds)]
    talkers = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
        start_new_session=True,
    )  # fmt: skip
    try:
        assert talkers.stdout is not None
        assert talkers.stdout.readline() == "listens\n"
        stage.up()
        try:
            stage.until("all run", lambda: all(row["state"] == "running" for row in stage.rows().values()), 120)
            yield stage, talkers
        finally:
            stage.down()
    finally:
        talkers.communicate()
