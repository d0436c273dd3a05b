"""kill -9 to new process, all killed at once, idle cost, memory and the status command, side by side in one run."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.arena import Births, Figures, build_child, cpu_seconds, memory_mib, time_command
from tests.bench.peers import Circus, Floor, Peer, Phoenixd, Pm2, Supervisord, Unavailable

PEERS: dict[str, type] = {
    "floor": Floor, "phoenixd": Phoenixd, "supervisord": Supervisord, "circus": Circus, "pm2": Pm2
}  # fmt: skip


@dataclass(slots=True)
class Result:
    """What one supervisor did with `agents` children. Latencies in ms, memory in MiB, CPU in seconds a minute."""

    peer: str
    agents: int
    restart: Figures = field(default_factory=Figures)
    status: Figures = field(default_factory=Figures)
    all_back: float | None = None
    idle_cpu: float | None = None
    rss: float = 0.0
    pss: float = 0.0
    shims_cpu: float | None = None
    shims_rss: float = 0.0
    shims_pss: float = 0.0
    not_run: str = ""


def measure(key: str, agents: int, kills: int, idle: float, status_runs: int) -> Result:
    """Run one supervisor with `agents` children through all measurements."""
    peer_class = PEERS[key]
    result = Result(peer_class.name, agents)
    with tempfile.TemporaryDirectory(prefix="phx-bench-") as directory:
        root = Path(directory)
        births = Births(root / "births.sock")
        peer: Peer = peer_class(root / "peer" if key == "phoenixd" else root)
        names = [f"a{number:03}" for number in range(agents)]
        try:
            peer.start(build_child(root), births.path, names)
            if len(births.collect(agents, 120)) < agents:
                raise TimeoutError(f"only {len(births.alive)} of {agents} children were started")
            _settle(births)
            result.restart = _restarts(births, names, kills)
            _settle(births)
            result.status = _status(peer, status_runs)
            _idle(peer, names, idle, result)
            if agents > 1:
                result.all_back = _mass_death(births, agents)
        except (Unavailable, TimeoutError) as reason:
            result.not_run = str(reason)
        finally:
            peer.stop()
            births.close()
            for pid in births.alive.values():
                _kill(pid)
    return result


def _settle(births: Births) -> None:
    """Let late starts arrive: a second in which nobody is born."""
    while births.next(1.1) is not None:
        pass


def _restarts(births: Births, names: list[str], kills: int) -> Figures:
    figures = Figures()
    for _ in range(kills):
        name = random.choice(names)
        # runit-like peers restart at once only what lived a second, so that all get the same chance.
        time.sleep(1.05 if len(names) == 1 else 0.05)
        began = time.monotonic()
        os.kill(births.alive[name], signal.SIGKILL)
        birth = births.next(15)
        if birth is None or birth.name != name:
            figures.missed += 1
            continue
        figures.samples.append((birth.at - began) * 1000)
    return figures


def _mass_death(births: Births, agents: int) -> float | None:
    _settle(births)
    began = time.monotonic()
    for pid in list(births.alive.values()):
        os.kill(pid, signal.SIGKILL)
    back = births.collect(agents, 120)
    return (max(birth.at for birth in back) - began) * 1000 if len(back) == agents else None


def _status(peer: Peer, runs: int) -> Figures:
    argv = peer.status_argv()
    return time_command(argv, runs, peer.environ()) if argv else Figures()


def _idle(peer: Peer, names: list[str], seconds: float, result: Result) -> None:
    """CPU and memory over a quiet span; phoenixd gets a heartbeat of every agent each 15 s meanwhile."""
    own = peer.own_pids()
    shims = peer.shim_pids() if isinstance(peer, Phoenixd) else []
    before, shims_before = cpu_seconds(own), cpu_seconds(shims)
    give_up = time.monotonic() + seconds
    while (left := give_up - time.monotonic()) > 0:
        if isinstance(peer, Phoenixd):
            peer.beat(names)
        time.sleep(min(15.0, left))
    result.idle_cpu = (cpu_seconds(own) - before) * 60 / seconds
    result.rss, result.pss = memory_mib(own)
    if isinstance(peer, Phoenixd):
        result.shims_cpu = (cpu_seconds(shims) - shims_before) * 60 / seconds
        server = peer.server_pid()
        result.shims_rss, result.shims_pss = memory_mib([*shims, *([server] if server else [])])


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
