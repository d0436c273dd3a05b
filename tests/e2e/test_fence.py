"""A hostile agent within the fence that needs no rights, on a real daemon: it reaches nothing, and goes on working."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from phoenixd.demo.stage import Stage
from phoenixd.drivers.cgroups.tree import MOUNTS
from tests.e2e.census import incarnations
from tests.e2e.puppet import Puppet
from tests.shim.test_fence import has_fences

__all__ = ["has_fences"]

TRIES = r"""
import ctypes, os, signal, subprocess
libc = ctypes.CDLL(None, use_errno=True)
def tried(act):
    try:
        return "done" if act() is None else "done"
    except OSError as error:
        return "held"
def trace(pid):
    if libc.ptrace(16, pid, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")
def write(path):
    with open(path, "w") as file:
        file.write("{}")
out = {
    **{f"kill {name}": tried(lambda: os.kill(pid, signal.SIGKILL)) for name, pid in PIDS.items()},
    **{f"trace {name}": tried(lambda: trace(pid)) for name, pid in PIDS.items()},
    "token key": tried(lambda: open(STATE + "/token.key", "rb").read()),
    "journal": tried(lambda: open(STATE + "/journal.sqlite3", "r+b").close()),
    "declare": tried(lambda: write(STATE + "/agents.d/more.toml")),
    "forge its end": tried(lambda: write(STATE + "/agents/bad/exit.json")),
    "forge its neighbour's end": tried(lambda: write(STATE + f"/agents/{NEIGHBOUR}/exit.json")),
    "its neighbour's link": tried(lambda: os.unlink(RUNTIME + f"/agents/{NEIGHBOUR}/link.sock")),
    "leave its leaf": tried(lambda: open(LEAF + "/cgroup.procs", "w").write("0")),
    "terminal server": tried(
        lambda: subprocess.run(["tmux", "-S", RUNTIME + "/tmux.sock", "run-shell", "true"], check=True, stderr=-3)
        if os.path.exists(RUNTIME + "/tmux.sock") else open(RUNTIME + "/tmux.sock")
    ),
}
"""
ASKS = r"""
import os, subprocess
def asked(verb, name, rest=""):
    url = f"http://phoenixd/v1/agents/{name}{rest}"
    ran = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-X", verb, "--unix-socket",
                          os.environ["PHOENIX_SOCKET"], url], capture_output=True, text=True)
    return ran.stdout
hooked = subprocess.run([os.environ["PHOENIX_HOOK"], "notification"], input='{"message": "fenced"}', text=True)
out = [asked("GET", "bad"), asked("POST", "good", "/stop"), hooked.returncode,
       subprocess.run(["phoenixctl", "status", "bad", "--json"], capture_output=True).returncode]
"""


@pytest.fixture
def puppet(stage: Stage) -> Puppet:
    bad = Puppet(stage.root / "bad")
    stage.declare(
        "bad", f'[fence]\nkind = "namespace"\n[agent.bad]\nargv = {json.dumps(bad.argv)}\ncwd = "{stage.root}"\n'
    )
    stage.declare("good", '[agent.good]\nargv = ["sleep", "100000"]\ncwd = "/"\nfence = "auto"\n')
    stage.up()
    for name in ("bad", "good"):
        stage.until_running(name, 1)
    return bad


def test_promises_3_5_and_7_a_hostile_agent_reaches_nothing_from_within_its_fence(stage: Stage, puppet: Puppet) -> None:
    assert stage.process is not None
    server = ["tmux", "-S", str(stage.runtime / "tmux.sock"), "display-message", "-p", "#{pid}"]
    shim = json.loads((stage.state / "agents" / "bad" / "run.json").read_text())["shim"]["pid"]
    pids = {
        "daemon": stage.process.pid,
        "shim": shim,
        "terminal": int(subprocess.run(server, capture_output=True, text=True, check=True).stdout),
        "neighbour": stage.row("good")["pid"],
    }
    mount = next((one for one in MOUNTS if (one / "cgroup.procs").exists()), MOUNTS[0])
    places = f"PIDS, STATE, RUNTIME, LEAF = {pids!r}, {str(stage.state)!r}, {str(stage.runtime)!r}, {str(mount)!r}\n"
    places += "NEIGHBOUR = 'good'\n"

    tried = eval(puppet.do(places + TRIES))

    assert set(tried.values()) == {"held"}, tried
    assert [stage.row(name)["incarnation"] for name in ("bad", "good")] == [1, 1]
    assert puppet.do(ASKS) == "['200', '403', 0, 0]"
    stage.kill()
    stage.up()
    stage.until_running("bad", 1)
    assert puppet.do(ASKS) == "['200', '403', 0, 0]", "also where the daemon is another one by now"
    told = stage.ctl("doctor", "--all").stdout
    assert "bad: fence namespace" in told
    assert ("root gets round a namespace" in told) is (os.geteuid() == 0)
    assert puppet.do("import subprocess\nout = subprocess.run(['setsid', '-f', 'sleep', '100000']).returncode") == "0"
    assert "stays so" in stage.ask("stop", "bad")
    assert incarnations(stage.root, "bad") == {}
