"""Why one machine said 0.7 x pm2 and another 2.6 x: kill -9 to main() with more and more processes on the host.

Nothing else is varied: the same supervisors with the same child live through all of it, and what is added sleeps.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator

from tests.bench.arena import Figures, NoCompiler, processes_on_host
from tests.bench.race import Runner, race, racing
from tests.bench.scale import Scale

CROWDS = (0, 500, 1000, 2000)
PEERS = ("phoenixd", "pm2", "supervisord", "floor")


def report(scale: Scale) -> bool:
    """One agent of each; a line for each crowd."""
    try:
        with racing([key for key in PEERS if key in scale.peers], 1) as runners:
            print(
                "\n1 agent of each and a crowd of sleepers: kill -9 to main() in ms, median / p90, and CPU in ms a kill"
            )
            for size in CROWDS[:2] if scale.quick else CROWDS:
                with crowd(size):
                    _forget(runners)
                    race(runners, scale.kills, 0, 0)
                    _print(runners)
            return not any(runner.not_run for runner in runners)
    except NoCompiler as reason:
        print(f"not run: {reason}")
        return False


def _forget(runners: list[Runner]) -> None:
    for runner in runners:
        runner.restart, runner.kill_cpu = Figures(), 0.0


def _print(runners: list[Runner]) -> None:
    said = [
        f"{runner.peer.name} {runner.restart.median:.1f} / {runner.restart.p90:.1f}, "
        f"{runner.kill_cpu / max(1, len(runner.restart.samples)):.1f}"
        for runner in runners
        if not runner.not_run
    ]
    by_key = {runner.key: runner.restart.median for runner in runners if not runner.not_run}
    ratio = by_key["phoenixd"] / by_key["pm2"] if "phoenixd" in by_key and "pm2" in by_key else float("nan")
    print(f"{processes_on_host():>6} processes on the host: {'; '.join(said)}; phoenixd is {ratio:.2f} x pm2")


@contextlib.contextmanager
def crowd(size: int) -> Iterator[None]:
    """So many processes that sleep, with the environment of a usual one."""
    sleepers = [subprocess.Popen(["sleep", "100000"], start_new_session=True) for _ in range(size)]
    try:
        yield
    finally:
        for sleeper in sleepers:
            sleeper.send_signal(signal.SIGKILL)
        for sleeper in sleepers:
            sleeper.wait()
