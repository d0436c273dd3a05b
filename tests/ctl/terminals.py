"""A command on a terminal of its own, and what it shows there."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def on_a_terminal(
    command: list[str | Path], env: dict[str, str], size: tuple[int, int] = (24, 80)
) -> Iterator[tuple[int, int]]:
    """A command with a pseudo-terminal of its own; yields its pid and the master side. size: lines and columns."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(master, size)
    process = subprocess.Popen(["setsid", "--ctty", *command], stdin=slave, stdout=slave, stderr=slave, env=env)
    os.close(slave)
    try:
        yield process.pid, master
    finally:
        process.kill()
        process.wait()
        os.close(master)


def phoenixctl(*words: str) -> list[str | Path]:
    return [sys.executable, "-m", "phoenixd.ctl", *words]


def read_until(master: int, wanted: bytes, timeout: float = 10) -> bytes:
    seen = b""
    deadline = time.monotonic() + timeout
    while wanted not in seen:
        ready, _, _ = select.select([master], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"{wanted!r} did not appear in {seen!r}"
        seen += os.read(master, 65536)
    return seen
