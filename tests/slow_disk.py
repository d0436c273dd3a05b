"""A disk whose every sync takes so long: strace holds up the calls of one process, its threads included."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

DEADLINE = 60.0


def sync_delay(seconds: float) -> list[str]:
    """The words of strace that let every fsync and fdatasync return that much later."""
    calls = "fsync,fdatasync"
    return ["-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={calls}:delay_exit={seconds:.6f}s"]


@contextmanager
def slow_syncs(pid: int, seconds: float) -> Iterator[None]:
    """The syncs of a living process are slow for as long as the block lasts; skips the test without strace."""
    if shutil.which("strace") is None:
        pytest.skip("not run: strace is not installed")
    words = ["strace", *[word for word in sync_delay(seconds) if word != "-qq"], "-p", str(pid)]
    tracer = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert tracer.stderr is not None
    said = tracer.stderr.readline()
    if "attached" not in said:
        tracer.wait(DEADLINE)
        pytest.skip(f"not run: strace cannot attach here: {said.strip()}")
    try:
        yield
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.communicate(timeout=DEADLINE)
