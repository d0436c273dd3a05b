"""What `phoenixctl top` costs at 1,000 agents, on a real terminal: first paint, a key, memory. Only when asked.

The server is a daemon in memory, in a process of its own: what is measured is the face. Each look at the terminal is a
call of tmux, and is part of the figure.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from phoenixd.core.sight import Doing, Sight
from tests.api.conftest import serving
from tests.api.daemon import FakeDaemon
from tests.bench import feed
from tests.bench.scale import Scale

AGENTS = 1000
CHANGES = 50
"""Rows that change in a second, while keys are pressed."""
FIRST, KEY, MEMORY = 300.0, 50.0, 40.0
"""Aims: milliseconds to the first paint and to a key's effect (p95), MiB of memory of its own."""
PATIENCE = 60.0


def report(scale: Scale) -> bool:
    """Print the figures of top, and those of the feed."""
    return all([_top(scale), feed.report(scale)])


def _top(scale: Scale) -> bool:
    """Print the figures of top beside their aims."""
    if shutil.which("tmux") is None:
        print("not run: tmux is absent (apt-get install tmux)")
        return False
    root = Path(tempfile.mkdtemp(prefix="phx"))
    server = subprocess.Popen([sys.executable, "-m", "tests.bench.faces", str(root)], stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        server.stdout.readline()
        paints, costs = zip(*(_first_paint(root) for _ in range(3 if scale.quick else 10)), strict=True)
        keys, memory, cpu = _keys(root, 10 if scale.quick else 100)
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(root, ignore_errors=True)
    print(f"\nphoenixctl top, {AGENTS} agents, 80x24{'':12}median     p95    aim")
    _row("start to first paint, ms", list(paints), FIRST)
    _row("the same in CPU of top, ms", list(costs), FIRST)
    _row(f"key to screen at {CHANGES} changes/s, ms", keys, KEY)
    print(f"{'memory of its own (private), MiB':44}{memory:>8.1f}{'':8}{MEMORY:>7.0f}")
    print(f"{f'CPU at {CHANGES} changes/s and a key at a time, %':44}{cpu:>8.1f}")
    return True


def _row(name: str, found: list[float], aim: float) -> None:
    p95 = statistics.quantiles(found, n=20)[-1] if len(found) > 1 else found[0]
    print(f"{name:44}{statistics.median(found):>8.0f}{p95:>8.0f}{aim:>7.0f}")


class Seen:
    """A terminal with top in it."""

    def __init__(self, root: Path) -> None:
        self._tmux = ["tmux", "-S", tempfile.mktemp(dir=root, suffix=".sock"), "-f", "/dev/null"]
        env = {name: value for name, value in os.environ.items() if name not in ("TMUX", "NO_COLOR")}
        env |= {"PHOENIX_SOCKET": str(root / "api.sock"), "PYTHONPATH": os.getcwd(), "TERM": "xterm-256color"}
        size = ["-x", "80", "-y", "24"]
        self.began = time.monotonic()
        command = [sys.executable, "-m", "phoenixd.ctl", "top"]
        subprocess.run([*self._tmux, "new-session", "-d", *size, *command], check=True, env=env)

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)

    def press(self, key: str) -> None:
        subprocess.run([*self._tmux, "send-keys", key], check=True)

    def until(self, words: str) -> float:
        """Milliseconds until the screen shows this."""
        deadline = time.monotonic() + PATIENCE
        capture = [*self._tmux, "capture-pane", "-p"]
        while words not in subprocess.run(capture, capture_output=True, text=True, check=True).stdout:
            if time.monotonic() > deadline:
                raise TimeoutError(f"top never showed {words}")
        return 1000 * (time.monotonic() - self.began)

    def pid(self) -> int:
        shown = [*self._tmux, "display-message", "-p", "#{pane_pid}"]
        return int(subprocess.run(shown, capture_output=True, text=True, check=True).stdout)


def _first_paint(root: Path) -> tuple[float, float]:
    seen = Seen(root)
    try:
        return seen.until(f"{AGENTS}/{AGENTS} alive"), 1000 * _cpu(seen.pid())
    finally:
        seen.close()


def _keys(root: Path, count: int) -> tuple[list[float], float, float]:
    seen, found = Seen(root), []
    try:
        seen.until(f"{AGENTS}/{AGENTS} alive")
        seen.press("Tab")
        seen.until("agent-0000")
        used, began = _cpu(seen.pid()), time.monotonic()
        for number in range(count):
            seen.began = time.monotonic()
            seen.press("j")
            found.append(seen.until(f">* agent-{number:04d}"))
        spent = 100 * (_cpu(seen.pid()) - used) / (time.monotonic() - began)
        return found, _private(seen.pid()), spent
    finally:
        seen.close()


def _cpu(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _private(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


async def serve(root: Path) -> None:
    """A daemon in memory, some of whose agents do something else all the time."""
    daemon = FakeDaemon()
    for number in range(AGENTS):
        daemon.declare(f"agent-{number:04d}")
        daemon.hook(f"agent-{number:04d}", "prompt-submit", text="go")
    async with serving(daemon, root, beat=2.0):
        print("ready", flush=True)
        number = 0
        while True:
            name = f"agent-{number % AGENTS:04d}"
            daemon.see(name, Sight(1, doing=Doing("Bash", f"make {number}", time.time()), has_calls=True))
            number += 7
            await asyncio.sleep(1 / CHANGES)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
