"""A program that is held by a lifeline ends with the process that holds it, and no stranger does in its place."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from phoenixd.drivers.processes.proc import read_stat
from tests.shim.test_reused_pid import OWN, _works
from tests.waiting import eventually_sync

PACKAGE = str(Path(__file__).resolve().parents[1])

# The thread that forked is gone before the holder is; what it forked, and what that did, go with the holder.
HOLDS = """
import subprocess, sys, threading, time
from phoenixd.lifeline import Lifeline
lifeline = Lifeline()
def begin():
    program = ["sh", "-c", "sleep 600 & echo $$ $!; exec >&-; wait"]
    started = subprocess.Popen(program, start_new_session=True, pass_fds=(lifeline.theirs,))
    lifeline.hold(started.pid)
thread = threading.Thread(target=begin)
thread.start()
thread.join()
if sys.argv[1] == "let go":
    lifeline.__exit__()
print("held", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("held", ["held", "let go"])
def test_a_program_that_is_held_ends_with_its_holder_and_one_that_was_let_go_lives_on(held: str) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS, held],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": PACKAGE},
    )
    assert holder.stdout is not None
    lines = [holder.stdout.readline().split(), holder.stdout.readline().split()]
    group, child = next([int(word) for word in words] for words in lines if words != ["held"])
    try:
        assert lives(group)
        assert lives(child)
        holder.kill()
        holder.wait()
        if held == "held":
            eventually_sync(lambda: not lives(group) and not lives(child))
        else:
            assert lives(group)
            assert lives(child)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
        if lives(child):
            os.kill(child, signal.SIGKILL)


def lives(pid: int) -> bool:
    """Whether the process of that number does; the number is not given away within this test."""
    stat = read_stat(pid)
    return stat is not None and stat.state not in "ZX"


# Process 1 of a pid namespace of its own: here the next number can be chosen.
SWAP = r"""
import subprocess, sys
HOLDER = '''
import os, subprocess, sys, time
from phoenixd.lifeline import Lifeline
lifeline = Lifeline()
# What it leaves in another group keeps the other end of the pipe open.
program = ["sh", "-c", "setsid sh -c 'echo away; exec sleep 600' & exec sleep 600"]
child = subprocess.Popen(program, start_new_session=True, stdout=subprocess.PIPE, pass_fds=(lifeline.theirs,))
child.stdout.readline()
if sys.argv[1] == "held before":
    lifeline.hold(child.pid)
child.kill()
child.wait()
print(child.pid, flush=True)
sys.stdin.readline()
if sys.argv[1] == "held after":
    lifeline.hold(child.pid)
print("goes on", flush=True)
time.sleep(600)
'''
holder = subprocess.Popen(
    [sys.executable, "-c", HOLDER, sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)
pid = int(holder.stdout.readline())
strangers = []
while not strangers or strangers[-1].pid != pid:
    open("/proc/sys/kernel/ns_last_pid", "w").write(str(pid - 1))
    strangers.append(subprocess.Popen(["sleep", "600"], start_new_session=True))
print("", file=holder.stdin, flush=True)
assert holder.stdout.readline() == "goes on\n"
holder.kill()
holder.wait()
try:
    print("killed" if strangers[-1].wait(0.5) else "ended")
except subprocess.TimeoutExpired:
    print("lives")
"""


@pytest.mark.parametrize("when", ["held before", "held after"])
def test_promise_5_a_stranger_who_has_the_number_of_a_program_that_was_held_lives(when: str) -> None:
    """held after: the child was reaped, and its number given away, before it could be held."""
    own = next((way for way in (OWN, (*OWN, "--user", "--map-root-user")) if _works(way)), None)
    if own is None:
        pytest.skip("not run: no pid namespace can be made here")
    done = subprocess.run(
        [*own, sys.executable, "-c", SWAP, when], capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": PACKAGE},
    )  # fmt: skip
    if "ns_last_pid" in done.stderr or "PermissionError" in done.stderr:
        pytest.skip("not run: the next pid cannot be chosen here")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "lives"
