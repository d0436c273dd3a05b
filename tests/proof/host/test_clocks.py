"""The host's clock is set by an hour, and the host sleeps for eight: nobody is ended, nothing is told twice."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.census import survivors
from tests.proof.host.fleet import RUNNING, Fleet

pytestmark = [pytest.mark.proof, pytest.mark.timeout(600)]

SOURCE = Path(__file__).with_name("clock_step.c")
HOUR = 3600


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    """The file that moves the clock of every process that has `environ_of` it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("not run: no C compiler (apt-get install gcc)")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", tmp_path / "clock.so", SOURCE, "-ldl"], check=True)
    (tmp_path / "step").write_text("0")
    return tmp_path / "step"


def environ_of(clock: Path) -> dict[str, str]:
    return {"LD_PRELOAD": str(clock.with_name("clock.so")), "CLOCK_STEP": str(clock)}


def set_clock(clock: Path, seconds: int) -> None:
    clock.with_name("new").write_text(str(seconds))
    clock.with_name("new").replace(clock)


def heartbeat(fleet: Fleet, name: str) -> str:
    """Ask for something that the daemon stamps with its wall clock."""
    fleet.stage.ask("restart", name, "--wait")
    return str(fleet.stage.row(name)["started_at"])


def is_back(fleet: Fleet, name: str, killed: int) -> bool:
    row = fleet.stage.row(name)
    return row["state"] == "running" and row["pid"] not in (None, killed)


def test_f_hb_4_the_clock_is_set_an_hour_forward_and_two_back_and_nobody_is_ended(fleet: Fleet, clock: Path) -> None:
    fleet.up(environ=environ_of(clock))
    for step in (HOUR, -HOUR, 0):
        set_clock(clock, step)
        told = heartbeat(fleet, "a0")
        expected = time.strftime("%Y-%m-%dT%H:", time.gmtime(time.time() + step))
        near = time.strftime("%Y-%m-%dT%H:", time.gmtime(time.time() + step - 60))
        assert told.startswith((expected, near)), "the daemon lives by the clock that was set"
        killed = fleet.stage.row("a1")["pid"]
        os.kill(killed, signal.SIGKILL)
        fleet.stage.until("a1 is back", partial(is_back, fleet, "a1", killed))
        fleet.stage.kill()
        fleet.again(environ=environ_of(clock))
    fleet.settles(healed=("a0", "a1"))
    assert not fleet.alerts()


def test_f_sy_2_eight_hours_of_sleep_end_nobody(fleet: Fleet, clock: Path) -> None:
    """Everything stands still, and the wall clock has moved when it goes on: what a suspended host looks like."""
    fleet.up(environ=environ_of(clock))
    everything = [fleet.daemon, *survivors(fleet.stage.root)]
    for pid in everything:
        os.kill(pid, signal.SIGSTOP)
    set_clock(clock, 8 * HOUR)
    for pid in everything:
        os.kill(pid, signal.SIGCONT)
    fleet.settles()
    assert all(fleet.stage.row(name)["incarnation"] == 1 for name in RUNNING)
    assert not fleet.alerts()
