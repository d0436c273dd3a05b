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


def main() -> None:
    place = Path(sys.argv[1])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if "PHOENIX_RUN_ID" in os.environ:
        os.open(place / "alive", os.O_WRONLY)
        sys.path.append(str(Path(__file__).resolve().parents[1]))
        from ending import SECONDS, hop

        until = time.monotonic() + SECONDS
        for number in range(LINEAGES):
            if os.fork() == 0:
                hop(until, 0.002, lambda hops, mark=place / str(number): hops == 5 and mark.touch())
    while True:
        time.sleep(1000)


if __name__ == "__main__":
    main()
