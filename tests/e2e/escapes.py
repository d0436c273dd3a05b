"""An agent that hides children from those who want to end it: ten ways, each leaves a file that names its process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PLACE = Path(sys.argv[1])
SLEEP = ["sleep", "100000"]


def note(name: str, pid: int) -> None:
    (PLACE / name).write_text(str(pid))


def spawn(name: str, argv: list[str] = SLEEP, **how: object) -> None:
    note(name, subprocess.Popen(argv, stdin=subprocess.DEVNULL, **how).pid)  # type: ignore[call-overload]


def double_fork(name: str, environment: dict[str, str] | None) -> None:
    """A daemon: its parent is gone, it leads a session of its own."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            note(name, os.getpid())
            os.execvpe(SLEEP[0], SLEEP, os.environ if environment is None else environment)
        os._exit(0)
    os.wait()


def ignoring(name: str) -> None:
    code = (
        "import signal, time\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\n"
        "print('ready', flush=True)\ntime.sleep(100000)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    process.stdout.readline()
    note(name, process.pid)


def stopped(name: str) -> None:
    process = subprocess.Popen(SLEEP, start_new_session=True)
    process.send_signal(signal.SIGSTOP)
    note(name, process.pid)


def main() -> None:
    spawn("child")
    note("shell", subprocess.Popen(["sh", "-c", "sleep 100000 & wait"]).pid)
    spawn("session", start_new_session=True)
    double_fork("daemon", None)
    double_fork("daemon-empty-environment", {"PATH": os.environ["PATH"]})
    spawn("empty-environment", env={"PATH": os.environ["PATH"]}, start_new_session=True)
    spawn("nohup", ["nohup", *SLEEP], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    spawn("group", process_group=0)
    ignoring("ignores-signals")
    stopped("stopped")
    note("all", os.getpid())
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    while True:
        time.sleep(1000)


if __name__ == "__main__":
    main()
