"""What the shim and the hook program cost, printed: `python -m tests.shim.measure`.

Alternatives are interleaved call by call, so that a busy machine slows all of them: compare ratios, not milliseconds.
"""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.shim.pane import Pane
from tests.shim.posting import Poster
from tests.shim.test_tree import STORM, make_leaf
from tests.waiting import eventually_sync

SOURCE = Path(__file__).parents[2] / "phoenixd" / "shim"
# What a heartbeat hook usually is: the seed's script, as short as it can be.
BASH_HOOK = r"""#!/bin/bash
cat > /dev/null
now=$(date -Iseconds)
echo "{\"agent\": \"a\", \"timestamp\": \"$now\", \"tool\": \"${1:-unknown}\", \"pid\": $PPID}" > "$OUT.tmp"
mv "$OUT.tmp" "$OUT"
"""


def milliseconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def line(name: str, samples: list[float]) -> float:
    ordered = sorted(samples)
    median = statistics.median(ordered)
    print(f"{name:58} median {median:8.2f}  p99 {ordered[int(len(ordered) * 0.99)]:8.2f} ms  n={len(ordered)}")
    return median


def memory(pid: int) -> str:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    fields = {row.split(":")[0]: int(row.split()[1]) for row in rollup if row.endswith("kB")}
    rss, pss, private = (fields[name] / 1024 for name in ("Rss", "Pss", "Private_Dirty"))
    return f"RSS {rss:.1f} MB  PSS {pss:.1f} MB  private {private:.1f} MB"


def measure_start(library: Path, room: Path) -> None:
    samples = []
    panes = []
    for number in range(30):
        directory = room / f"start{number}"
        directory.mkdir()
        began = time.perf_counter()
        pane = Pane(library, directory)
        while not (pane.run / "link.sock").exists():
            pass
        samples.append((time.perf_counter() - began) * 1000)
        panes.append(pane)
    line("start to listening (through sh, files compiled)", samples[1:])
    print(f"  one of 30 idle shims: {memory(panes[-1].pid)}")
    for pane in panes:
        pane.end()


def measure_runs(pane: Pane) -> None:
    daemon = pane.daemon()
    to_started, to_exited, again = [], [], []
    for _ in range(100):
        began = time.perf_counter()
        started = daemon.start(["sleep", "1000"])
        to_started.append((time.perf_counter() - began) * 1000)
        began = time.perf_counter()
        os.kill(started["pid"], signal.SIGKILL)
        daemon.expect("exited")
        to_exited.append((time.perf_counter() - began) * 1000)
        again.append(to_started[-1] + to_exited[-1])
    line("order written -> started told", to_started)
    line("kill -9 -> tree empty, exit.json on disk, exited told", to_exited)
    line("both: from one life to the next", again)


def measure_deaths(pane: Pane, younger: int) -> None:
    """CPU of the shim for one death, with the sweep before it is told and with the daemon's later on."""
    try:
        leaf = make_leaf()
    except pytest.skip.Exception as reason:
        print(f"deaths with a leaf: {reason}")
        return
    daemon = pane.daemon()
    samples: dict[bool, list[float]] = {False: [], True: []}
    for number in range(60):
        sweeps = number % 2 == 1
        started = daemon.start(["sleep", "1000"], cgroup=str(leaf))
        crowd = [subprocess.Popen(["sleep", "1000"]) for _ in range(younger)]
        daemon.send(op="hello", protocol=1, version="0.1.0", sweeps=sweeps)
        daemon.expect("hello")
        before = cpu_milliseconds(pane.pid)
        os.kill(started["pid"], signal.SIGKILL)
        daemon.expect("exited")
        samples[sweeps].append(cpu_milliseconds(pane.pid) - before)
        daemon.send(op="swept", run_ids=[started["run_id"]])
        for one in crowd:
            one.kill()
            one.wait()
    leaf.rmdir()
    line(f"CPU of a death, {younger} younger processes, swept before", samples[False])
    line(f"CPU of a death, {younger} younger processes, swept later", samples[True])


def cpu_milliseconds(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6


def measure_storm(pane: Pane) -> None:
    daemon = pane.daemon()
    samples = []
    for number in range(10):
        ready = pane.room / f"storm{number}"
        started = daemon.start([sys.executable, "-S", "-c", STORM, str(ready)])
        eventually_sync(ready.exists)
        samples.append(milliseconds(lambda incarnation=started: daemon.kill(incarnation)))  # type: ignore[misc]
    line("kill of a hopping fork storm, 20 lineages, no cgroup", samples)


def measure_hooks(pane: Pane, library: Path) -> None:
    daemon = pane.daemon()
    port = daemon.events[0]["hook_port"]
    order = pane.order(["sleep", "1000"])
    daemon.give(order)
    daemon.expect("started")
    bash_hook = pane.room / "heartbeat.sh"
    bash_hook.write_text(BASH_HOOK)
    bash_hook.chmod(0o755)
    environment = {**order["env"], "OUT": str(pane.room / "beat.json")}
    hook_input = b'{"session_id":"s","tool_name":"Bash","tool_input":{"command":"make"},"tool_response":"%s"}' % (
        b"x" * 2000
    )

    def run(*argv: str) -> None:
        subprocess.run(argv, env=environment, input=hook_input, check=True)

    alternatives: dict[str, Callable[[], object]] = {
        "floor: fork and exec of true": lambda: run("/bin/true"),
        "phoenix-hook tool-end": lambda: run(str(library / "phoenix-hook"), "tool-end"),
        "bash with $(date) and mv": lambda: run(str(bash_hook), "Bash"),
    }
    with Poster(pane, port) as poster:
        alternatives["HTTP on a kept connection, no process"] = lambda: poster.post("tool-end", hook_input)
        samples: dict[str, list[float]] = {name: [] for name in alternatives}
        for _ in range(200):
            for name, action in alternatives.items():
                samples[name].append(milliseconds(action))
    medians = {name: line(name, values) for name, values in samples.items()}
    ratio = medians["bash with $(date) and mv"] / medians["phoenix-hook tool-end"]
    print(f"  the bash script takes {ratio:.1f} times as long as phoenix-hook")
    print(f"  the shim after 400 hooks and a run: {memory(pane.pid)}")


def main() -> None:
    room = Path(tempfile.mkdtemp(prefix="phx-"))
    library = room / "lib"
    shutil.copytree(SOURCE, library / "shim", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(SOURCE / "phoenix-hook", library / "phoenix-hook")
    (room / "a").mkdir()
    pane = Pane(library, room / "a")
    try:
        measure_start(library, room)
        measure_runs(pane)
        for younger in (1, 100):
            measure_deaths(pane, younger)
        measure_storm(pane)
        measure_hooks(pane, library)
    finally:
        pane.end()
        shutil.rmtree(room)


if __name__ == "__main__":
    main()
