"""The fence that needs no rights: what a hostile agent within it can do to what watches it, and what still works."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.shim.pane import Daemon
from tests.waiting import eventually_sync

TRIES = r"""
import ctypes, json, os, signal, socket, subprocess, sys
report, shim, watcher, state, run, hidden, secret, frozen = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
def tried(act):
    try:
        said = act()
    except OSError as error:
        return error.strerror
    return "done" if said is None else said
def connect(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(path)
def trace(pid):
    if libc.ptrace(16, pid, None, None) != 0:  # PTRACE_ATTACH
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def write(path):
    with open(path, "w") as file:
        file.write("x")
def unmount(path):
    if libc.umount2(os.fsencode(path), 2) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def nested(*words):
    ran = subprocess.run(["unshare", "-Urm", *words], capture_output=True, text=True)
    return ran.stderr.strip().rpartition(": ")[2] or ran.stdout.strip()
child = subprocess.Popen(["sleep", "1000"])
found = {
    "kill the shim": tried(lambda: os.kill(int(shim), signal.SIGKILL)),
    "stop the shim": tried(lambda: signal.pidfd_send_signal(os.pidfd_open(int(shim)), signal.SIGSTOP)),
    "kill the watcher": tried(lambda: os.kill(int(watcher), signal.SIGKILL)),
    "trace the watcher": tried(lambda: trace(int(watcher))),
    "trace the shim": tried(lambda: trace(int(shim))),
    "read its memory": tried(lambda: open(f"/proc/{watcher}/mem", "rb").close()),
    "read its environment": tried(lambda: open(f"/proc/{watcher}/environ", "rb").close()),
    "reach it by its root": tried(lambda: os.listdir(f"/proc/{watcher}/root/")),
    "read the secret": tried(lambda: open(secret).read()),
    "write beside it": tried(lambda: write(hidden + "/new")),
    "write its own state": tried(lambda: write(state + "/exit.json")),
    "write what is frozen": tried(lambda: write(frozen + "/new")),
    "connect to the terminal server": tried(lambda: connect(hidden + "/server.sock")),
    "uncover": tried(lambda: unmount(hidden)),
    "uncover as root within": nested("umount", hidden),
    "thaw as root within": nested("mount", "-o", "remount,rw,bind", frozen),
    "a nested room": nested("id", "-u"),
    "read its own state": tried(lambda: open(state + "/brief.md").read()),
    "write its own room": tried(lambda: write(run + "/mine")),
    "connect to its shim": tried(lambda: connect(run + "/hook.sock")),
    "kill its child": tried(lambda: os.kill(child.pid, signal.SIGKILL)),
    "its child ended": child.wait(),
    "write where it works": tried(lambda: write("here")),
    "write to /tmp": tried(lambda: write("/tmp/phx-fence-" + str(os.getpid()))),
    "who": [os.getuid(), os.getgid()],
    "capable": int([line for line in open("/proc/self/status") if line.startswith("CapEff")][0].split()[1], 16) != 0,
}
os.unlink("/tmp/phx-fence-" + str(os.getpid()))
write(report + ".new")
with open(report + ".new", "w") as file:
    json.dump(found, file)
os.rename(report + ".new", report)
signal.pause()
"""
HELD = {
    "kill the shim", "stop the shim", "kill the watcher", "trace the watcher", "trace the shim", "read its memory",
    "read its environment", "reach it by its root", "read the secret", "write beside it", "write its own state",
    "write what is frozen", "connect to the terminal server", "uncover",
}  # fmt: skip
DENIED = {
    "Operation not permitted", "Permission denied", "No such file or directory", "Read-only file system",
    "Invalid argument",
}  # fmt: skip


ENTER = (
    "import sys; sys.path.insert(0, sys.argv[1]); import fence; "
    "sys.exit(fence.missing() or fence.enter(fence.Fence([], [], [])))"
)
SHIM = Path(__file__).parents[2] / "phoenixd" / "shim"


@pytest.fixture(autouse=True)
def has_fences() -> None:
    """Not run where the kernel has none, or forbids namespaces to those without rights."""
    command = [sys.executable, "-c", ENTER, str(SHIM)]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"not run: {tried.stderr.strip().splitlines()[-1]}")


def fenced(daemon: Daemon, **changes: Any) -> dict[str, Any]:
    """An order's fence around what a daemon would hide; the room is the shim's, the workspace beside it."""
    room = daemon.pane.room
    hidden, frozen = room / "hidden", room / "frozen"
    for directory in (hidden, frozen):
        directory.mkdir()
    (hidden / "token.key").write_text("secret")
    (daemon.pane.state / "brief.md").write_text("brief")
    fence = {
        "hidden": [str(hidden), str(daemon.pane.state), str(daemon.pane.run)],
        "masked": [str(room / "masked"), str(room / "not there")],
        "shown": [
            {"path": str(daemon.pane.state)},
            {"path": str(daemon.pane.run), "write": True},
            {"path": str(frozen)},
            {"path": str(room / "not there either")},
        ],
    }
    return {"protocol": 2, "fence": fence, **changes}


def test_promise_5_within_the_fence_a_hostile_agent_reaches_nothing_of_what_watches_it(daemon: Daemon) -> None:
    room = daemon.pane.room
    order = fenced(daemon)
    report, hidden = room / "report.json", room / "hidden"
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(hidden / "server.sock"))
    server.listen()
    watcher = subprocess.Popen(["sleep", "1000"])
    try:
        places = [report, daemon.pane.pid, watcher.pid, daemon.pane.state, daemon.pane.run, hidden]
        places += [hidden / "token.key", room / "frozen"]
        daemon.start([sys.executable, "-S", "-E", "-c", TRIES, *map(str, places)], **order)
        eventually_sync(report.exists, 60, "the agent reports")
        assert watcher.poll() is None
    finally:
        watcher.kill()
        watcher.wait()
        server.close()
    found = json.loads(report.read_text())
    assert {what for what in HELD if found[what] not in DENIED} == set()
    assert "not mounted" in found["uncover as root within"] or "Invalid argument" in found["uncover as root within"]
    assert "permission denied" in found["thaw as root within"]
    assert found["a nested room"] == "0", "its own sandboxes need namespaces"
    assert found["read its own state"] == "brief"
    works = ("write its own room", "connect to its shim", "kill its child", "write where it works", "write to /tmp")
    assert {what: found[what] for what in works} == dict.fromkeys(works, "done")
    assert found["who"] == [os.getuid(), os.getgid()]
    assert not (room / "frozen" / "new").exists()


def test_the_fence_can_be_entered_without_what_the_installed_unit_takes_from_the_agents() -> None:
    """phoenixd-tmux.service: an ordinary user, no capability to be had, and no new privileges."""
    python = shutil.which("python3", path="/usr/bin:/bin")
    if os.geteuid() != 0 or shutil.which("setpriv") is None or python is None:
        pytest.skip("not run: only root gives capabilities up for good (setpriv)")
    user = ["--reuid", "65534", "--regid", "65534", "--clear-groups"]
    without = ["setpriv", *user, "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
    program = "import sys; exec(sys.stdin.read()); enter(Fence([], [], []))"

    source = (SHIM / "fence.py").read_bytes()
    ran = subprocess.run([*without, python, "-c", program], input=source, capture_output=True, check=False)

    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize(
    "field", [[], "x", {"hidden": ["relative"]}, {"shown": [{}]}, {"hidden": "x"}, {"masked": [7]}]
)
def test_an_order_whose_fence_is_malformed_starts_nothing(daemon: Daemon, field: object) -> None:
    order = daemon.pane.order(["touch", str(daemon.pane.room / "ran")], protocol=2, fence=field)

    daemon.give(order)

    failed = daemon.expect("start_failed")
    assert "fence" in failed["message"]
    assert not (daemon.pane.room / "ran").exists()


def test_what_cannot_be_hidden_is_not_started_without_its_fence(daemon: Daemon) -> None:
    missing = daemon.pane.room / "missing"
    order = daemon.pane.order(["touch", "ran"], protocol=2, fence={"hidden": [str(missing)]})

    daemon.give(order)

    assert f"fence: {missing}: No such file" in daemon.expect("start_failed")["message"]
    assert not (daemon.pane.room / "ran").exists()
