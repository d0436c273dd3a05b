"""A shim that lives and says nothing, as one that a debugger holds: what is told to do about it works when typed."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable

import pytest

from phoenixd.demo.stage import Stage

pytestmark = [pytest.mark.slow, pytest.mark.faults]

SEIZE, INTERRUPT = 0x4206, 0x4207


def hold(pid: int) -> None:
    """Stop a process for good: SIGSTOP alone does not last, for tmux has its panes go on."""
    libc = ctypes.CDLL(None, use_errno=True)
    for request in (SEIZE, INTERRUPT):
        if libc.ptrace(request, pid, None, None) != 0:
            pytest.skip(f"nothing can be held here: {os.strerror(ctypes.get_errno())}")


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
