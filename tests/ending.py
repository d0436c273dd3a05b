"""What tests start and what would go on for ever ends by itself after some minutes.

A run of tests that is killed ends none of its programs. A chain of processes that live for an instant takes a core
then, and no list of processes shows it. Run as a program, with a number of seconds, this is such a chain, and prints a
dot at each hop.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

TESTS = str(Path(__file__).parent)
"""Where a program that imports nothing else finds this module, as `ending`."""
SECONDS = 600.0
"""For how long a chain goes on: longer than any test may take (`timeout` in pyproject.toml)."""
ALARM = f"import signal; signal.alarm({SECONDS:.0f})"
"""The first line of a Python program that would compute for ever."""
A_WHILE = "[ $((turns += 1)) -lt 9999 ]"
"""The condition of a shell's loop that goes on for as long as its test needs it, and ends."""


def hop(until: float, pause: float = 0.0, told: Callable[[int], object] = lambda hops: None) -> None:
    """Be one process after another, each in a session of its own, until that moment of the monotonic clock."""
    hops = 0
    while time.monotonic() < until:
        if os.fork():
            os._exit(0)
        os.setsid()
        hops += 1
        told(hops)
        time.sleep(pause)
    os._exit(0)


if __name__ == "__main__":
    hop(time.monotonic() + float(sys.argv[1]), 0.002, lambda hops: os.write(1, b"."))
