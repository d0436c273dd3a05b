"""A shim that lives and says nothing, as one that a debugger holds: what is told to do about it works when typed."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage

pytestmark = [pytest.mark.slow, pytest.mark.faults]

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17


def hold(pid: int) -> None:
    """Stop a process for good: SIGSTOP alone does not last, for tmux has its panes go on."""
    libc = ctypes.CDLL(None, use_errno=True)
    for request in (SEIZE, INTERRUPT):
        if libc.ptrace(request, pid, None, None) != 0:
            pytest.skip(f"nothing can be held here: {os.strerror(ctypes.get_errno())}")


def let_go(pid: int) -> None:
    """End what `hold` began."""
    assert ctypes.CDLL(None, use_errno=True).ptrace(DETACH, pid, None, None) == 0, os.strerror(ctypes.get_errno())


def shim_of(stage: Stage) -> int:
    found: int = json.loads((stage.state / "agents/a/run.json").read_text())["shim"]["pid"]
    return found


def while_linked(stage: Stage) -> None:
    hold(shim_of(stage))


def while_no_daemon_runs(stage: Stage) -> None:
    stage.kill()
    hold(shim_of(stage))
    stage.up()


@pytest.mark.parametrize("silence", [while_linked, while_no_daemon_runs])
def test_the_remedy_against_a_silent_shim_works_as_it_is_told(stage: Stage, silence: Callable[[Stage], None]) -> None:
    stage.declare("a", '[agent.a]\nargv = ["sleep", "100000"]\ncwd = "/"\nstop = { grace = "1s" }\n')
    stage.up()
    before = stage.until_running("a", 1)["pid"]
    silence(stage)
    stage.ctl("restart", "a")

    told: list[str] = []

    def is_told() -> bool:
        told[:] = re.findall(r"kill -9 \d+", stage.row("a")["reason"])
        return bool(told)

    stage.until("a remedy is told", is_told)
    subprocess.run(shlex.split(told[0]), check=True)

    stage.until("it runs again", lambda: stage.row("a")["state"] == "running" and stage.row("a")["pid"] != before)
    # The new shim hears.
    stage.ask("stop", "a", "--wait")


def test_promise_3_a_shim_that_reads_its_order_after_the_start_was_given_up_starts_nothing_that_stays(
    stage: Stage,
) -> None:
    stage.declare("a", '[agent.a]\nargv = ["sleep", "100000"]\ncwd = "/"\nstop = { grace = "1s" }\n')
    stage.up()
    stage.until_running("a", 1)
    stage.ask("stop", "a", "--wait")
    shim = shim_of(stage)
    hold(shim)
    stage.ctl("start", "a")
    stage.until("the start is given up", lambda: stage.row("a")["state"] == "backing_off")
    stage.ask("stop", "a", "--wait")

    let_go(shim)
    stage.until("the late run is told of", lambda: "began after it was given up" in stage.ask("explain", "a"))

    children = Path(f"/proc/{shim}/task/{shim}/children")
    stage.until("nothing of it lives", lambda: not children.read_text().split())
    assert stage.row("a")["state"] == "stopped"
