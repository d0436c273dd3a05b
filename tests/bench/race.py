"""Supervisors side by side in one run: they take turns, so that a busy minute of the machine is busy for all of them.

Each kill comes at a random phase, and no child that dies is younger than 1.3 s: runit, supervisord and systemd hold
back the restart of what died young.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.arena import Births, Figures, NoCompiler, build_child, cpu_seconds, memory_mib, time_command
from tests.bench.packaged import S6, Runit
from tests.bench.peers import Circus, Floor, Peer, Phoenixd, Pm2, Supervisord, Unavailable
from tests.bench.systemd_peer import Systemd

PEERS: dict[str, Callable[[Path], Peer]] = {
    "floor": Floor, "phoenixd": Phoenixd, "runit": Runit, "s6": S6, "pm2": Pm2, "supervisord": Supervisord,
    "systemd": Systemd, "circus": Circus,
}  # fmt: skip
USUAL = ("floor", "phoenixd", "runit", "s6", "pm2", "supervisord", "systemd")

GROWN = 1.3
"""Seconds that a child has lived before it is killed."""
PHASE = 0.5
PATIENCE = 60.0
BEAT = 15.0
"""Seconds between two heartbeats of an agent."""
FOLDED = 65.0
"""Seconds after which all documents were looked over once. What heartbeats alone tell is written each five minutes: a
span of one may lack its share."""
SHORTEST = 20.0
"""Seconds of an idle span whose figure counts; a quick one is a sign that all of it runs."""


@dataclass(slots=True)
class Runner:
    """One supervisor with its children. Latencies in ms, memory in MiB, CPU in ms a kill and in seconds a minute."""

    key: str
    names: list[str]
    peer: Peer
    births: Births
    restart: Figures = field(default_factory=Figures)
    first_back: Figures = field(default_factory=Figures)
    last_back: Figures = field(default_factory=Figures)
    status: Figures = field(default_factory=Figures)
    kill_cpu: float = 0.0
    mass_cpu: Figures = field(default_factory=Figures)
    silent_cpu: float | None = None
    beating_cpu: float | None = None
    rss: float = 0.0
    pss: float = 0.0
    not_run: str = ""

    @property
    def pids(self) -> list[int]:
        """All that the supervisor costs: ours with its shims."""
        own = self.peer.own_pids()
        return [*own, *self.peer.shim_pids()] if isinstance(self.peer, Phoenixd) else own

    def cpu(self) -> float:
        return cpu_seconds(self.pids)

    def wait_until_grown(self, name: str) -> None:
        while self.births.next(0) is not None:
            pass
        while (left := self.births.newest[name].at + GROWN - time.monotonic()) > 0:
            time.sleep(left)
            while self.births.next(0) is not None:
                pass

    def kill_one(self) -> None:
        """Kill a child at a random phase, and wait for its successor."""
        name = random.choice(self.names)
        time.sleep(random.uniform(0, PHASE))
        self.wait_until_grown(name)
        before, began = self.cpu(), time.monotonic()
        os.kill(self.births.alive[name], signal.SIGKILL)
        give_up = began + PATIENCE
        while (left := give_up - time.monotonic()) > 0:
            birth = self.births.next(left)
            if birth is not None and birth.name == name and birth.at > began:
                self.restart.samples.append((birth.at - began) * 1000)
                break
        else:
            self.restart.missed += 1
        # What follows of a death is paid, too.
        time.sleep(0.25)
        self.kill_cpu += (self.cpu() - before) * 1000

    def kill_all(self) -> None:
        for name in self.names:
            self.wait_until_grown(name)
        before, began = self.cpu(), time.monotonic()
        for pid in list(self.births.alive.values()):
            os.kill(pid, signal.SIGKILL)
        back = self.births.collect(len(self.names), 120)
        if len(back) < len(self.names):
            self.last_back.missed += 1
            return
        times = [(birth.at - began) * 1000 for birth in back]
        self.first_back.samples.append(min(times))
        self.last_back.samples.append(max(times))
        time.sleep(1)
        self.mass_cpu.samples.append((self.cpu() - before) * 1000)


@contextlib.contextmanager
def racing(keys: list[str], agents: int) -> Iterator[list[Runner]]:
    """All of them started, each with `agents` children of its own; those that cannot run here say why."""
    with contextlib.ExitStack() as ends:
        directory = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="phx-bench-")))
        child = build_child(directory)
        yield [_started(ends, directory / key, child, key, agents) for key in keys]


def _started(ends: contextlib.ExitStack, root: Path, child: Path, key: str, agents: int) -> Runner:
    root.mkdir()
    births = Births(f"@phx-bench-{os.getpid()}-{key}")
    names = [f"a{number:03}" for number in range(agents)]
    peer = PEERS[key](root)
    runner = Runner(key, names, peer, births)
    ends.callback(_end, runner)
    try:
        peer.start(child, str(births.path), names)
        if len(births.collect(agents, max(180.0, agents))) < agents:
            raise TimeoutError(f"only {len(births.alive)} of {agents} children were started")
    except (Unavailable, TimeoutError, OSError) as reason:
        runner.not_run = str(reason)
    return runner


def _end(runner: Runner) -> None:
    with contextlib.suppress(FileNotFoundError):
        runner.peer.stop()
    while runner.births.next(0) is not None:
        pass
    runner.births.close()
    for pid in runner.births.alive.values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def race(runners: list[Runner], kills: int, waves: int, status_runs: int) -> None:
    """The kills in turns, then all children of one after those of another, then the status commands in turns."""
    running = [runner for runner in runners if not runner.not_run]
    for _ in range(kills):
        for runner in random.sample(running, len(running)):
            runner.kill_one()
    for _ in range(waves):
        for runner in random.sample(running, len(running)):
            runner.kill_all()
    for _ in range(status_runs):
        for runner in running:
            if (argv := runner.peer.status_argv()) is not None:
                runner.status.samples += time_command(argv, 1, runner.peer.environ()).samples


def idle(runners: list[Runner], seconds: float, longest: float = 120.0) -> None:
    """What all of them cost in the same span of silence, then ours with a heartbeat of every agent each 15 s.

    It begins when ours has settled, heard one round of heartbeats, and brought its documents up to date with them:
    all of that is work that no idle daemon has.
    """
    running = [runner for runner in runners if not runner.not_run]
    ours = [(runner, runner.peer) for runner in running if isinstance(runner.peer, Phoenixd)]
    for runner, peer in ours:
        settle(runner, longest)
        peer.beat(runner.names)
    if ours:
        # In a span that is shorter than this, the documents of that round would be half of what is counted.
        time.sleep(FOLDED if seconds >= SHORTEST else seconds)
    for runner, _ in ours:
        settle(runner, longest)
    before, began = _costs(running), time.monotonic()
    time.sleep(seconds)
    for key, runner in enumerate(running):
        runner.silent_cpu = _a_minute(cpu_seconds(runner.peer.own_pids()) - before[key], began)
        runner.rss, runner.pss = memory_mib(runner.peer.own_pids())
    before, began = _costs([runner for runner, _ in ours]), time.monotonic()
    for beat in range(max(1, round(seconds / BEAT)) if ours else 0):
        for runner, peer in ours:
            peer.beat(runner.names)
        time.sleep(max(0.0, began + min(seconds, (beat + 1) * BEAT) - time.monotonic()))
    for key, (runner, _) in enumerate(ours):
        runner.beating_cpu = _a_minute(cpu_seconds(runner.peer.own_pids()) - before[key], began)


def _costs(runners: list[Runner]) -> list[float]:
    return [cpu_seconds(runner.peer.own_pids()) for runner in runners]


def settle(runner: Runner, longest: float, span: float = 3.0, quiet: float = 0.01) -> None:
    """Wait until the supervisor does next to nothing: what became of the deaths is written, git was asked."""
    give_up = time.monotonic() + longest
    while time.monotonic() < give_up:
        before = cpu_seconds(runner.peer.own_pids())
        time.sleep(span)
        if cpu_seconds(runner.peer.own_pids()) - before < quiet * span:
            return


def _a_minute(cpu: float, began: float) -> float:
    return cpu * 60 / (time.monotonic() - began)


__all__ = ["PEERS", "USUAL", "NoCompiler", "Runner", "idle", "race", "racing", "settle"]
