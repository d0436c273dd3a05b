"""The instant of a death as strace chooses it: the n-th time that some thread of the daemon makes some system call."""

from __future__ import annotations

import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from phoenixd.demo.stage import Stage
from tests.proof.killing.fleet import Fleet

SPEAKING = (
    "accept4", "bind", "chmod", "clone", "clone3", "connect", "epoll_ctl", "fallocate", "fchmod", "fcntl", "fdatasync",
    "flock", "fsync", "ftruncate", "getdents64", "inotify_add_watch", "link", "listen", "mkdir", "openat",
    "pidfd_open", "pidfd_send_signal", "pwrite64", "recvfrom", "recvmsg", "rename", "renameat2", "rmdir", "sendmsg",
    "sendto", "socket", "statx", "symlink", "unlink", "utimensat", "vfork", "write",
)  # fmt: skip
"""Calls by which a daemon changes the world, speaks to it or listens; not those by which Python reads its modules."""
LIFE = 12.0
"""Seconds after which a daemon whose chosen call did not come is killed as any other; it counts as no chosen one."""


class TracedStage(Stage):
    """A stage whose daemon can be started under strace, which looks at its threads and at none of its children."""

    tracer: tuple[str, ...] = ()

    def up(self, *, wait: bool = True) -> None:
        if not self.tracer:
            super().up(wait=wait)
            return
        daemon = [sys.executable, "-m", "phoenixd", "--state-dir", str(self.state), "--runtime-dir", str(self.runtime)]
        with self.log.open("ab") as log:
            # With -D the tracer is a grandchild, and the child is the daemon itself.
            self.process = subprocess.Popen(
                ["strace", "-D", "-f", "-qqq", "-b", "execve", *self.tracer, *daemon],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=self.environ,
            )
        if wait:
            self.until("the daemon answers", self.answers)


def is_possible() -> bool:
    return shutil.which("strace") is not None


def calls_of_a_life(fleet: Fleet, stage: TracedStage) -> dict[str, tuple[int, int]]:
    """By call: how often one thread made it before the daemon opened its lock, and in all, in a life with orders."""
    log = stage.root / "calls"
    stage.tracer = ("-e", f"trace={','.join(SPEAKING)}", "-o", str(log))
    fleet.up()
    for _ in range(4):
        for order in fleet.give_some():
            order.wait()
        fleet.hear()
    fleet.kill("chosen calls, to learn them")
    stage.tracer = ()
    return _counted(log)


def _counted(log: Path) -> dict[str, tuple[int, int]]:
    before: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    is_begun = False
    for line in log.read_text(errors="replace").splitlines():
        if (found := re.match(r"(\d+) +(\w+)\(", line)) is None:
            continue
        is_begun = is_begun or "phoenixd.lock" in line or "/state" in line
        (total if is_begun else before)[found[1], found[2]] += 1
    calls = {}
    for name in {name for _, name in total}:
        thread, count = max(((who, n) for (who, call), n in total.items() if call == name), key=lambda pair: pair[1])
        first = before[thread, name]
        calls[name] = first, first + count
    return calls


def kill_at_a_call(fleet: Fleet, stage: TracedStage, calls: dict[str, tuple[int, int]], dice: random.Random) -> bool:
    """One life, until the chosen call is made: while it starts, or under orders. False where that never came."""
    name = dice.choice(sorted(calls))
    before, total = calls[name]
    when = dice.randint(before + 1, max(before + 1, total))
    stage.tracer = ("-e", f"trace={name}", "-e", f"inject={name}:signal=SIGKILL:when={when}", "-o", "/dev/null")
    try:
        stage.up(wait=False)
    finally:
        stage.tracer = ()
    assert stage.process is not None
    if not _ends_in_a_life(fleet, stage):
        fleet.kill("chosen calls that did not come")
        return False
    fleet.hear()
    if stage.process.returncode != -signal.SIGKILL:
        raise AssertionError(f"the daemon ended with {stage.process.returncode}:\n{stage.log_tail()}")
    fleet.tally["kills: at a system call"] += 1
    fleet.tally[f"call {name}"] += 1
    return True


def _ends_in_a_life(fleet: Fleet, stage: TracedStage) -> bool:
    """Give orders as soon as it answers; whether it was killed before its time was over."""
    assert stage.process is not None
    deadline = time.monotonic() + LIFE
    while stage.process.poll() is None and time.monotonic() < deadline:
        if fleet.ask("GET", "/v1/agents")[0] != 200:
            time.sleep(0.02)
            continue
        fleet.misfortune()
        for order in fleet.give_some():
            order.wait(max(0.1, deadline - time.monotonic()))
        if stage.process.poll() is None:
            # Each of them has its answer: what follows must not ask the same agent twice at once.
            fleet.hear()
    return stage.process.poll() is not None
