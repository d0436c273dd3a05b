"""Run within a hidepid world: a real daemon, and an agent of its own user that may not be traced, and so is hidden.

Hardened CLIs are such programs. Prints what became of it, as JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from phoenixd.demo.stage import Stage
from tests.waiting import eventually_sync

AGENT = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
with open(sys.argv[1], "a") as file:
    file.write(f"{os.getpid()}\\n")
while True:
    signal.pause()
"""


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def main() -> None:
    root = Path(tempfile.mkdtemp(prefix="phx-"))
    stage, report = Stage(root), root / "pids"
    argv = json.dumps([sys.executable, "-S", "-c", AGENT, str(report)])
    stage.declare("a", f'[agent.a]\nargv = {argv}\ncwd = "/"\n[agent.a.stop]\ngrace = "1s"\n')
    found: dict[str, object] = {}

    def pids(count: int) -> list[int]:
        def told() -> list[int]:
            numbers = [int(line) for line in report.read_text().splitlines()] if report.exists() else []
            return numbers if len(numbers) == count else []

        return eventually_sync(told, 60, f"{count} processes told their numbers")

    try:
        stage.up()
        first = stage.until_running("a", 1)["pid"]
        found["hidden"] = [not Path(f"/proc/{pid}").exists() for pid in pids(2)]
        stage.kill()
        stage.up()
        row = stage.until_running("a", 1)
        found["adopted"] = [row["pid"] == first, [exists(pid) for pid in pids(2)]]
        os.kill(first, signal.SIGKILL)
        stage.until_running("a", 2)
        found["of the first run"] = [exists(pid) for pid in pids(4)[:2]]
        asked = stage.ctl("stop", "a")
        found["stopped"] = [asked.returncode, stage.row("a")["state"]]
        found["alive"] = [exists(pid) for pid in pids(4)]
        found["doctor"] = "hidepid" in stage.ctl("doctor", "--all").stdout
    finally:
        stage.down()
        shutil.rmtree(root, ignore_errors=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
