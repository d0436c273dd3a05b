"""A pid that became another process's while the shim was about to kill it: promise 5, in a pid namespace of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHIM = Path(__file__).resolve().parents[2] / "phoenixd" / "shim"
OWN = ("unshare", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child")

# The victim is met once as one of the run's; while it is asked about again, its pid becomes a stranger's.
SWAP = r"""
import os, subprocess
import procfs
from tree import Tree
marks = {"PHOENIX_AGENT": "a", "PHOENIX_RUN_ID": "r"}
tree = Tree("a", "r", None)
victim = subprocess.Popen(["sleep", "100000"], env=marks)
asked, strangers, truly = [], [], procfs.environment_has
def environment_has(pid, entries):
    answer = truly(pid, entries)
    if pid != victim.pid:
        return answer
    asked.append(answer)
    if len(asked) == 2:
        victim.kill()
        victim.wait()
        while not strangers or strangers[-1].pid != pid:
            open("/proc/sys/kernel/ns_last_pid", "w").write(str(pid - 1))
            strangers.append(subprocess.Popen(["sleep", "100000"], env={}))
    return answer
while not truly(victim.pid, (b"PHOENIX_AGENT=a", b"PHOENIX_RUN_ID=r")):
    pass
procfs.environment_has = environment_has
tree.kill_strays()
procfs.environment_has = truly
assert asked[:2] == [True, True], asked
try:
    print("killed" if strangers[-1].wait(0.5) else "ended")
except subprocess.TimeoutExpired:
    print("lives")
for stranger in strangers:
    stranger.kill()
"""


def test_promise_5_a_stranger_who_gets_the_pid_of_a_process_that_is_being_killed_lives() -> None:
    own = next((way for way in (OWN, (*OWN, "--user", "--map-root-user")) if _works(way)), None)
    if own is None:
        pytest.skip("not run: no pid namespace can be made here")
    done = subprocess.run(
        [*own, sys.executable, "-c", SWAP], capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": str(SHIM)},
    )  # fmt: skip
    if "ns_last_pid" in done.stderr or "PermissionError" in done.stderr:
        pytest.skip("not run: the next pid cannot be chosen here")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "lives"


def _works(own: tuple[str, ...]) -> bool:
    try:
        return subprocess.run([*own, "true"], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


# The dead agent's number is this very process's by now, which leads a group of that number.
REAPED = """
import os, subprocess
import run
living, dead = object.__new__(run.Run), object.__new__(run.Run)
agent = subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True)
living.pid, living.ended_at = agent.pid, None
living.terminate()
agent.stdin.close()
dead.pid, dead.ended_at = os.getpid(), "2026-01-01T00:00:00Z"
dead.terminate()
print("spared", agent.wait())
"""


def test_promise_5_an_agent_is_asked_to_end_until_it_is_reaped_and_never_after() -> None:
    argv = [sys.executable, "-c", REAPED]
    done = subprocess.run(
        argv, cwd=SHIM, start_new_session=True, timeout=60, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "spared -15\n"), done.stderr
