"""Real processes for the drivers' tests: runs that try to get away, and decoys that look like them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

from phoenixd.drivers.processes.proc import boot_id, read_stat
from phoenixd.ports.processes import ProcessIdentity
from tests.waiting import eventually_sync

ESCAPES = {
    "child": "fork()",
    "grandchild": "fork(lambda: fork())",
    "new session": "fork(lambda: os.setsid())",
    "new group": "fork(lambda: os.setpgid(0, 0))",
    "double fork": "daemon()",
    "empty environment": "fork(lambda: execute({}))",
    "daemon with empty environment": "daemon(lambda: execute({}))",
    "ignores every signal it can": "fork(ignore)",
    "nohup": "subprocess.Popen(['nohup', *SLEEP], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)",
    "tmux server of its own": "tmux()",
}
"""Ten ways of a process to get away from its parent, as Python that the agent runs."""

RUN = r"""
import ctypes, os, signal, subprocess, sys, time
room, seconds, leaf = sys.argv[1:]
SLEEP = ["sleep", seconds]
def execute(environment):
    os.execvpe("sleep", SLEEP, environment)
def fork(prepare=lambda: None):
    if os.fork() == 0:
        prepare()
        execute(os.environ)
def daemon(prepare=lambda: None):
    pid = os.fork()
    if pid == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        prepare()
        execute(os.environ)
    os.waitpid(pid, 0)
def ignore():
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
def tmux():
    subprocess.run(["tmux", "-S", room + "/own", "-f", "/dev/null", "new", "-d", *SLEEP], check=True)
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER, as a shim does.
agent = os.fork()
if agent == 0:
    os.environ["PHOENIX_RUN_ID"] = os.environ["RUN"]
    if leaf: open(leaf + "/cgroup.procs", "w").write("0")
    # Only what exec was given is in /proc/PID/environ.
    os.execv(sys.executable, [sys.executable, room + "/agent.py", *sys.argv[1:]])
with open(room + "/pid", "w") as file: file.write(f"{agent}\n")
while True:
    try: os.wait()
    except ChildProcessError: time.sleep(0.05)
"""


class Run:
    """A stand-in for a shim (a subreaper) with an agent below it that has made its escapes."""

    def __init__(self, room: Path, escapes: list[str], *, leaf: str | None = None, body: str = "") -> None:
        self.run_id = str(uuid.uuid4())
        # A number of seconds that tells this run's sleepers from everybody else's.
        self.seconds = str(10**9 + uuid.uuid4().int % 10**8)
        functions, _, shim = RUN.partition("ctypes.CDLL")
        (room / "agent.py").write_text(
            "\n".join([functions, *escapes, body, 'open(room + "/ready", "w").close()', "while True: time.sleep(1000)"])
        )
        self.shim_process = subprocess.Popen(
            [sys.executable, "-c", functions + "ctypes.CDLL" + shim, room, self.seconds, leaf or ""],
            env={"PATH": os.environ["PATH"], "RUN": self.run_id},
            start_new_session=True,
        )
        eventually_sync(lambda: (room / "ready").exists(), what="the agent made its escapes")
        self.shim = identity(self.shim_process.pid)
        self.agent = identity(int((room / "pid").read_text()))

    def kill_shim(self) -> None:
        self.shim_process.kill()
        self.shim_process.wait()

    def kill_agent(self) -> None:
        os.kill(self.agent.pid, signal.SIGKILL)
        eventually_sync(lambda: read_stat(self.agent.pid) is None, what="the shim reaped the agent")

    def sleepers(self) -> list[int]:
        return sleepers(self.seconds)

    def wait_for_sleepers(self, count: int) -> None:
        eventually_sync(lambda: len(self.sleepers()) == count, what=f"{count} sleepers are there")

    def close(self) -> None:
        """End everything by what only a test may use: the unique argument of the sleepers."""
        self.kill_shim()
        for pid in [*self.sleepers(), self.agent.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def identity(pid: int) -> ProcessIdentity:
    stat = read_stat(pid)
    assert stat is not None
    return ProcessIdentity(boot_id(), pid, stat.start_time)


def sleepers(seconds: str) -> list[int]:
    """Living processes whose arguments end in `sleep SECONDS`."""
    wanted = b"sleep\0" + seconds.encode() + b"\0"
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{name}/cmdline").read_bytes().endswith(wanted):
                found.append(int(name))
    return [pid for pid in found if (stat := read_stat(pid)) and stat.state != "Z"]
