"""What all benchmarks share: the child program, its births on a datagram socket, process costs, quantiles."""

from __future__ import annotations

import os
import select
import shutil
import socket
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Birth:
    """A child's main() began: who, its pid, and CLOCK_MONOTONIC seconds."""

    name: str
    pid: int
    at: float


class NoCompiler(Exception):
    """The child program cannot be built here."""


class Births:
    """Receives the births of children; keeps the newest pid of each name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self._socket.bind(str(path))
        self.alive: dict[str, int] = {}

    def next(self, timeout: float) -> Birth | None:
        """The next birth, or None after `timeout` seconds."""
        ready, _, _ = select.select([self._socket], [], [], timeout)
        if not ready:
            return None
        name, pid, nanoseconds = self._socket.recv(200).decode().split()
        birth = Birth(name, int(pid), int(nanoseconds) / 1e9)
        self.alive[birth.name] = birth.pid
        return birth

    def collect(self, count: int, timeout: float) -> list[Birth]:
        """Up to `count` births within `timeout` seconds."""
        found: list[Birth] = []
        give_up = time.monotonic() + timeout
        while len(found) < count and (left := give_up - time.monotonic()) > 0:
            birth = self.next(left)
            if birth is not None:
                found.append(birth)
        return found

    def close(self) -> None:
        self._socket.close()


def build_child(directory: Path) -> Path:
    """Compile the child program."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise NoCompiler("no C compiler; apt-get install gcc libc6-dev")
    program = directory / "bench-child"
    subprocess.run([compiler, "-O2", "-o", str(program), str(Path(__file__).with_name("child.c"))], check=True)
    return program


@dataclass(slots=True)
class Figures:
    """Samples of one measurement, in the unit that its name says."""

    samples: list[float] = field(default_factory=list)
    missed: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.samples) if self.samples else float("nan")

    @property
    def p99(self) -> float:
        if not self.samples:
            return float("nan")
        ordered = sorted(self.samples)
        return ordered[min(len(ordered) - 1, round(0.99 * (len(ordered) - 1)))]

    def text(self) -> str:
        lost = f" ({self.missed} missed)" if self.missed else ""
        return f"{self.median:.2f} / {self.p99:.2f}{lost}"


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of living processes, without their children."""
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / TICK


def memory_mib(pids: Iterable[int]) -> tuple[float, float]:
    """RSS and PSS of living processes together, in MiB."""
    rss = pss = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        values = {line.split()[0]: int(line.split()[1]) for line in lines[1:] if len(line.split()) > 1}
        rss, pss = rss + values.get("Rss:", 0), pss + values.get("Pss:", 0)
    return rss / 1024, pss / 1024


def time_command(argv: list[str], runs: int, environ: dict[str, str] | None = None, stdin: bytes = b"") -> Figures:
    """Milliseconds of whole runs of a command."""
    figures = Figures()
    for _ in range(runs):
        began = time.monotonic()
        done = subprocess.run(argv, capture_output=True, check=False, env=environ, input=stdin)
        if done.returncode not in (0, 3):
            figures.missed += 1
            continue
        figures.samples.append((time.monotonic() - began) * 1000)
    return figures


def wait_until(condition: Callable[[], bool], what: str, timeout: float = 60.0) -> None:
    """Poll an outside program's state, which announces itself to nobody."""
    give_up = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > give_up:
            raise TimeoutError(f"waited {timeout:.0f} s in vain: {what}")
        time.sleep(0.05)
