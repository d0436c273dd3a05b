"""Every pid of a fleet is another process's by the time that the daemon looks: run inside a pid namespace.

Prints how many pids were had again, how many of their new holders died, and how many agents came back.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from phoenixd.demo.stage import Stage
from tests.proof.host.fleet import RUNNING, Fleet

LAST_PID = Path("/proc/sys/kernel/ns_last_pid")


def take(pid: int) -> subprocess.Popen[bytes]:
    """A stranger, who has this pid wherever the kernel still gives it."""
    LAST_PID.write_text(str(pid - 1))
    return subprocess.Popen(["sleep", "100000"])


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="phx-") as root:
        fleet = Fleet(Stage(Path(root)))
        fleet.up()
        stage = fleet.stage
        shims = [json.loads((stage.state / f"agents/{name}/run.json").read_text())["shim"]["pid"] for name in RUNNING]
        pids = [*shims, *fleet.pids.values()]
        stage.kill()
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue  # An agent goes with its shim.
        stage.until("they are gone", lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), 60)
        strangers = [take(pid) for pid in pids]
        again = sum(stranger.pid in pids for stranger in strangers)
        fleet.again()
        stage.until("all is as wanted", fleet.is_as_wanted, 120)
        back = sum(row["incarnation"] == 2 for row in stage.rows().values())
        dead = sum(stranger.poll() is not None for stranger in strangers)
        stage.down()
        for stranger in strangers:
            stranger.kill()
        print(again, dead, back)
    return 0


if __name__ == "__main__":
    sys.exit(main())
