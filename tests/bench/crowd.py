"""Why one machine said 0.7 x pm2 and another 2.6 x: kill -9 to main() with more and more processes on the host.

Nothing else is varied: the same supervisors with the same child live through all of it, and what is added sleeps. It
is younger than the child that is killed, as what runs on a busy machine is: who looks for what a run left behind can
pass over all that is older. CPU is what to read where the machine is busy.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator

from tests.bench.arena import Figures, NoCompiler, processes_on_host
from tests.bench.race import Runner, race, racing
from tests.bench.scale import Scale

CROWDS = (0, 500, 2000)
PEERS = ("phoenixd", "pm2", "supervisord", "floor")


def report(scale: Scale) -> bool:
    """One agent of each; a line for each crowd."""
    try:
        with racing([key for key in PEERS if key in scale.peers], 1) as runners:
            print(
                "\n1 agent of each and a crowd of sleepers: kill -9 to main() in ms, median / p90, and CPU in ms a kill"
            )
            for size in CROWDS[:2] if scale.quick else CROWDS:
                _forget(runners)
                for _ in range(scale.kills):
                    with crowd(size):
                        host = processes_on_host()
                        race(runners, 1, 0, 0)
                _print(runners, host)
            return not any(runner.not_run for runner in runners)
    except NoCompiler as reason:
        print(f"not run: {reason}")
        return False


def _forget(runners: list[Runner]) -> None:
    for runner in runners:
        runner.restart, runner.kill_cpu = Figures(), 0.0


def _print(runners: list[Runner], host: int) -> None:
    said = [
        f"{runner.peer.name} {runner.restart.median:.1f} / {runner.restart.p90:.1f}, "
        f"{runner.kill_cpu / max(1, len(runner.restart.samples)):.1f}"
        for runner in runners
        if not runner.not_run
    ]
    by_key = {runner.key: runner.restart.median for runner in runners if not runner.not_run}
    ratio = by_key["phoenixd"] / by_key["pm2"] if "phoenixd" in by_key and "pm2" in by_key else float("nan")
    print(f"{host:>6} processes on the host: {'; '.join(said)}; phoenixd is {ratio:.2f} x pm2")


@contextlib.contextmanager
def crowd(size: int) -> Iterator[None]:
    """`size` processes that sleep, below one that is killed with all of its group."""
    asleep = "for i in $(seq $1); do sleep 100000 & done; echo there; wait"
    group = subprocess.Popen(
        ["sh", "-c", asleep, "crowd", str(size)], start_new_session=True, stdout=subprocess.PIPE, text=True
    )
    assert group.stdout is not None
    group.stdout.readline()
    try:
        yield
    finally:
        os.killpg(group.pid, signal.SIGKILL)
        group.wait()
        group.stdout.close()
