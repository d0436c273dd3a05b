"""An agent whose children never stay: lineages that fork, leave their session and are gone, twenty at a time.

All of them hold the FIFO `alive`: no look at the process table finds who moves on while it looks, but the reader at its
other end is told when the last one is gone. Outside of a run it only sleeps, so that decoys have its very command line.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

LINEAGES = 20


def hop(place: Path, number: int) -> None:
    """Be somebody else, for ever."""
    hops = 0
    while True:
        if os.fork():
            os._exit(0)
        os.setsid()
        hops += 1
        if hops == 5:
            (place / str(number)).touch()
        time.sleep(0.002)


def main() -> None:
    place = Path(sys.argv[1])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if "PHOENIX_RUN_ID" in os.environ:
        os.open(place / "alive", os.O_WRONLY)
        for number in range(LINEAGES):
            if os.fork() == 0:
                hop(place, number)
    while True:
        time.sleep(1000)


if __name__ == "__main__":
    main()
