"""Run as root within a hidepid world: a daemon of an ordinary user, and peers of every origin that connect to it.

Prints what the daemon made of each, as JSON: origin -> [agent, whether it is unknown].
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from phoenixd.api import lineage
from phoenixd.api.peers import identify

USER = 65534
PLACE = b"\0phoenixd-tests-hidden-peers"
LIBC = ctypes.CDLL(None)
Step = Callable[[], None]


def be_user(*, traceable: bool = True) -> None:
    """Become the daemon's user; like sshd's own process, it can then not be traced unless it says so."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
    LIBC.prctl(4, int(traceable), 0, 0, 0)  # PR_SET_DUMPABLE


def begin(*steps: Step) -> int:
    """A process that takes the steps one after the other, each in a child of the one before; it waits for ever."""
    pid = os.fork()
    if pid:
        return pid
    try:
        steps[0]()
        if steps[1:]:
            begin(*steps[1:])
        while True:
            signal.pause()
    finally:
        os._exit(0)


def connect() -> None:
    be_user()
    knock()


def knock() -> None:
    """Connect as the user that this process is."""
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(PLACE)
    peer.recv(1)
    signal.pause()


def root() -> None:
    """Stay root's process: hidden, and not to be signalled."""


def hardened() -> None:
    be_user(traceable=False)


def session_of_its_own() -> None:
    os.setsid()


def shim(*below: Step) -> int:
    """A shim of the daemon's user; what is below it begins while it is still root, as a program with setuid would."""
    return _shim(lambda: (begin(*below), be_user()))


def shim_without_root() -> int:
    """A shim with a program below it, both of the daemon's user from the first."""
    return _shim(lambda: (be_user(), begin(lambda: None)))


def _shim(become: Callable[[], object]) -> int:
    reading, writing = os.pipe()

    def start() -> None:
        become()
        os.write(writing, b"x")

    pid = begin(start)
    os.read(reading, 1)
    return pid


def next_tick() -> None:
    """What begins from now on is younger by the kernel's clock than what there is."""
    tick = 1 / os.sysconf("SC_CLK_TCK")
    began = time.clock_gettime(time.CLOCK_BOOTTIME)
    while time.clock_gettime(time.CLOCK_BOOTTIME) < began + 2 * tick:
        pass


def main() -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(PLACE)
    listener.listen()
    listener.settimeout(60)
    found: dict[str, object] = {}
    mount = Path(tempfile.mkdtemp())
    mount.chmod(0o755)
    leaf = mount / "agents" / "docs" / "7" / "cgroup.procs"
    leaf.parent.mkdir(parents=True)
    lineage.CGROUP_MOUNTS = (str(mount),)
    # The daemon is a child of its own, so that this process stays root and makes the peers.
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        be_user()
        while shims := theirs.recv(4096):
            connection, _ = listener.accept()
            with connection:
                peer = identify(connection, {int(pid): agent for pid, agent in json.loads(shims).items()}, "/agents")
            theirs.send(json.dumps([peer.agent, bool(peer.unknown)]).encode())
        os._exit(0)
    theirs.close()
    ours.settimeout(60)

    def ask(origin: str, shims: dict[int, str], in_a_leaf: int | None = None) -> None:
        """What the daemon makes of who connects next."""
        leaf.write_text(f"{in_a_leaf}\n" if in_a_leaf else "")
        ours.send(json.dumps(shims).encode())
        found[origin] = json.loads(ours.recv(4096))

    for origin, steps in {
        "below root's sshd": (root, connect),
        "below the user's own sshd": (hardened, connect),
        "root itself": (knock,),
    }.items():
        begin(*steps)
        ask(origin, {})
    for origin, below in {
        "below a shim": (connect,),
        "below a shim and a hardened program": (hardened, connect),
        "below a shim and sudo": (root, connect),
        "below a shim, as root": (knock,),
        "below a shim, sudo and its monitor": (root, session_of_its_own, connect),
    }.items():
        one = shim(*below)
        ask(origin, {one: "docs"})
    ready, told, go, going = *os.pipe(), *os.pipe()

    def older() -> None:
        be_user()
        os.write(told, b"x")
        os.read(go, 1)
        knock()

    begin(root, older)
    os.read(ready, 1)
    next_tick()
    door = shim(root)
    os.write(going, b"x")
    ask("below root's sshd, older than an agent's sudo", {door: "docs"})
    ask("in an agent's control group, as root", {}, in_a_leaf=begin(knock))
    begin(root, connect)
    ask("below root's sshd, younger than an agent's sudo", {door: "docs"})
    begin(root, connect)
    ask("below root's sshd, beside an agent without one", {shim_without_root(): "docs"})
    ask("started by a hidden terminal server", {below_a_hidden_server(): "docs"})
    shutil.rmtree(mount)
    print(json.dumps(found))


def below_a_hidden_server() -> int:
    """A shim whose parent, as tmux where it is setgid, cannot be read, and has started another program as well."""
    reading, writing = os.pipe()

    def started() -> None:
        be_user()
        os.write(writing, f"{os.getpid()}".encode())

    def server() -> None:
        be_user(traceable=False)
        begin(started)
        begin(connect)

    begin(server)
    return int(os.read(reading, 32))


if __name__ == "__main__":
    main()
