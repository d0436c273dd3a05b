"""What all benchmarks share: the child program, its births on a datagram socket, process costs, quantiles."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import statistics
import struct
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

PROCESS_CPU = 2
"""The clock of a process in a clock's number: CPUCLOCK_SCHED of <linux/posix-timers.h>."""


@dataclass(frozen=True, slots=True)
class Birth:
    """A child's main() began: who, its pid, and CLOCK_MONOTONIC seconds."""

    name: str
    pid: int
    at: float


class NoCompiler(Exception):
    """The child program cannot be built here."""


class Births:
    """Receives the births of children, at a path or an abstract name that begins with @; keeps the newest of each."""

    def __init__(self, path: Path | str) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        name = str(path)
        self._socket.bind(f"\0{name[1:]}" if name.startswith("@") else name)
        self.alive: dict[str, int] = {}
        self.newest: dict[str, Birth] = {}

    def next(self, timeout: float) -> Birth | None:
        """The next birth, or None after `timeout` seconds."""
        ready, _, _ = select.select([self._socket], [], [], timeout)
        if not ready:
            return None
        words, credentials, _, _ = self._socket.recvmsg(200, 64)
        name, _, nanoseconds = words.decode().split()
        # The kernel's word, since a child in a container knows its number there.
        pid = struct.unpack("iII", credentials[0][2])[0]
        birth = Birth(name, pid, int(nanoseconds) / 1e9)
        self.alive[birth.name] = birth.pid
        self.newest[birth.name] = birth
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
    def p90(self) -> float:
        return self._quantile(0.9)

    @property
    def p99(self) -> float:
        return self._quantile(0.99)

    def _quantile(self, part: float) -> float:
        if not self.samples:
            return float("nan")
        ordered = sorted(self.samples)
        return ordered[round(part * (len(ordered) - 1))]

    def text(self) -> str:
        lost = f" ({self.missed} missed)" if self.missed else ""
        return f"{self.median:.2f} / {self.p99:.2f}{lost}"


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of living processes, their ended threads included and their children not, to the
    nanosecond: /proc/PID/stat counts in hundredths."""
    total = 0.0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += time.clock_gettime((~pid << 3) | PROCESS_CPU)
    return total


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def processes_on_host() -> int:
    """How many processes there are: what a supervisor that reads /proc pays for."""
    return sum(name.isdecimal() for name in os.listdir("/proc"))


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
