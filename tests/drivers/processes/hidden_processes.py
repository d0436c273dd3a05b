"""Run within a hidepid world: what the drivers make of processes of our own user that may not be traced.

Prints it as JSON. The stand-in of a shim is a subreaper; its agent, and what that left in a session of its own, hide.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from phoenixd.drivers.processes.fence import Fence
from phoenixd.drivers.processes.leftovers import Choice, Cleaner
from phoenixd.drivers.processes.pidfds import Processes
from phoenixd.drivers.processes.proc import boot_id, is_hidden, read_stat
from phoenixd.errors import PhoenixdError
from phoenixd.ports.processes import ProcessIdentity

LIBC = ctypes.CDLL(None)
TRACEABLE, SUBREAPER = 4, 36
RUN = "hidden-run"


class Tree:
    """A shim, its agent, and what the agent started and left; identities as they were before any of them hid."""

    def __init__(self) -> None:
        self._told, self._tell = os.pipe()
        self._go, self._going = os.pipe()
        pid = os.fork()
        if pid == 0:
            LIBC.prctl(SUBREAPER, 1, 0, 0, 0)
            self._fork(self._agent)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            while True:
                signal.pause()
        self.shim = identity(pid)
        self.agent, self.orphan = (identity(self._number()) for _ in range(2))
        for _ in range(2):
            os.write(self._going, b"x")
        for _ in range(2):
            self._number()

    def _agent(self) -> None:
        # The first number is the agent's: what began before it is no part of its run.
        self._say()
        self._fork(lambda: (os.setsid(), self._fork(self._left), os._exit(0)))
        # Until that has ended, its child is not the shim's: below an agent that hides, nobody would find it.
        os.wait()
        self._hide()

    def _left(self) -> None:
        self._say()
        self._hide()

    def _hide(self) -> None:
        os.read(self._go, 1)
        LIBC.prctl(TRACEABLE, 0, 0, 0, 0)
        self._say()
        while True:
            signal.pause()

    def _say(self) -> None:
        os.write(self._tell, b"%08d" % os.getpid())

    def _number(self) -> int:
        return int(os.read(self._told, 8))

    @staticmethod
    def _fork(then: Callable[[], object]) -> None:
        if os.fork() == 0:
            try:
                then()
            finally:
                os._exit(0)

    def kill_shim(self) -> None:
        os.kill(self.shim.pid, signal.SIGKILL)
        os.waitpid(self.shim.pid, 0)


def identity(pid: int) -> ProcessIdentity:
    stat = read_stat(pid)
    assert stat is not None
    return ProcessIdentity(boot_id(), pid, stat.start_time)


def tried(act: Callable[[], object]) -> object:
    try:
        return act()
    except PhoenixdError as error:
        return error.message.replace(str(os.getpid()), "PID")


async def main() -> None:
    found: dict[str, object] = {}
    processes, tree, lost = Processes(), Tree(), Tree()
    one = sorted((tree.agent, tree.orphan), key=lambda known: known.pid)
    found["hidden"] = [is_hidden(known.pid) for known in one]
    found["alive"] = [processes.is_alive(known) for known in one]
    found["watched"] = processes.watch(tree.agent, lambda: None)
    found["below its shim"] = processes.is_below(tree.agent, tree.shim)
    found["below a stranger"] = processes.is_below(tree.agent, lost.shim)
    choice = Choice("a", Path("/nowhere"))
    left = Cleaner(shim_of=lambda agent: tree.shim).clean(choice, dry_run=True)
    found["left over"] = sorted(leftover.pid for leftover in left.owned) == [known.pid for known in one]
    fenced = Fence("a", 1, RUN, tree.agent, tree.shim).run()
    found["fenced"] = [len(fenced.killed), fenced.remaining, [processes.is_alive(known) for known in one]]
    lost.kill_shim()
    agent = lost.agent
    found["without its shim"] = "hidden" in str(tried(lambda: Fence("a", 1, RUN, agent).run(0.1)))
    os.kill(agent.pid, signal.SIGKILL)
    while is_hidden(agent.pid):
        await anyio.sleep(0.01)
    gone = Fence("a", 1, RUN, agent).run()
    # What else is hidden from this user on a machine that is used is unread as well.
    found["once it is gone"] = [gone.remaining, gone.unproven, lost.orphan.pid in gone.unread]
    os.kill(lost.orphan.pid, signal.SIGKILL)
    while is_hidden(lost.orphan.pid):
        await anyio.sleep(0.01)
    found["once all is gone"] = Fence("a", 1, RUN, agent).run().unread
    processes.close()
    print(json.dumps(found))


if __name__ == "__main__":
    anyio.run(main)
