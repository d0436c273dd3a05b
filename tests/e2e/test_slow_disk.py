"""The disk of the state directory is slow, and works: nothing is refused and nothing flaps, it only takes longer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from typing import Any

import pytest

from phoenixd.demo.stage import Stage
from tests.slow_disk import slow_syncs

pytestmark = [pytest.mark.slow, pytest.mark.faults, pytest.mark.timeout(300)]

PATIENCE = 120.0
ABOUT_THE_DISK = {"degraded", "slow disk"}


def declare(stage: Stage, *names: str) -> None:
    for name in names:
        rules = 'restart = { early_exit = "0s", productive = "0s" }\nresume = { refused_within = "0s" }\n'
        stage.declare(name, f'[agent.{name}]\nargv = ["sleep", "100000"]\ncwd = "/"\n{rules}')


def up(stage: Stage) -> None:
    stage.up(wait=False)
    stage.until("the daemon answers", stage.answers, PATIENCE)


def daemon(stage: Stage) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stage.ask("status", "--json"))["daemon"]
    return found


def alerts(stage: Stage, event: str = "alert_raised") -> list[str]:
    """The kinds of the alerts about the disk that were raised, or are over."""
    told = json.loads(stage.ask("events", "--since", "1h", "--all", "--json"))["events"]
    kinds = [row["detail"].get("kind") for row in told if row["event"] == event]
    return [kind for kind in kinds if kind in ABOUT_THE_DISK]


def test_f_st_a_disk_whose_sync_takes_2_5_seconds_is_one_alert_and_every_order_is_taken(stage: Stage) -> None:
    declare(stage, "stays", "stopped", "killed")
    up(stage)
    for name in ("stays", "stopped", "killed"):
        stage.until_running(name, 1, patience=PATIENCE)
    assert stage.process is not None
    with slow_syncs(stage.process.pid, 2.5):
        os.kill(stage.row("killed")["pid"], signal.SIGKILL)
        stopped = stage.ctl("stop", "stopped", "--timeout", "5m")
        assert (stopped.returncode, stopped.stderr) == (0, ""), "late is not failed"
        assert "stays so" in stopped.stdout
        started = stage.ctl("start", "stopped", "--wait", "--timeout", "5m")
        assert (started.returncode, started.stderr) == (0, "")
        assert stage.row("stopped")["incarnation"] == 2
        stage.until_running("killed", 2, patience=PATIENCE)
        stage.until("the disk is told of", lambda: alerts(stage) == ["slow disk"], PATIENCE)
        told = daemon(stage)
        assert (told["degraded"], told["commits"]["worst"] > 2) == (True, True)
        assert "half within" in " ".join(stage.ctl("doctor").stdout.split())
        stage.kill()
    up(stage)
    stage.until("all are as wanted", lambda: {row["state"] for row in stage.rows().values()} == {"running"}, PATIENCE)
    assert stage.row("stays")["incarnation"] == 1
    assert alerts(stage) == ["slow disk"], "another daemon does not tell it again"


def test_f_st_what_was_decided_when_the_daemon_is_told_to_end_is_in_the_journal_of_the_next(stage: Stage) -> None:
    """A decision whose commit waits behind a late one is saved before the end, and all who wait are answered."""
    declare(stage, "first", "second")
    up(stage)
    for name in ("first", "second"):
        stage.until_running(name, 1, patience=PATIENCE)
    assert stage.process is not None
    asked = []
    with slow_syncs(stage.process.pid, 2.5):
        for name in ("first", "second"):
            asked.append(asking(stage, "stop", name, "--timeout", "5m"))
            stage.until(f"{name} is stopping", partial(wants_down, stage, name), PATIENCE)
        stage.process.send_signal(signal.SIGTERM)
        stage.process.wait(PATIENCE)
        for one in asked:
            one.wait(PATIENCE)
    up(stage)
    told = json.loads(stage.ask("events", "--since", "1h", "--all", "--json"))["events"]
    stopped = {row["agent"] for row in told if row["event"] == "stop_requested"}
    assert stopped == {"first", "second"}


def wants_down(stage: Stage, name: str) -> bool:
    return stage.row(name)["desired"] == "stopped"


def asking(stage: Stage, *words: str) -> subprocess.Popen[bytes]:
    """phoenixctl beside the test, which waits for its answer."""
    program = [sys.executable, "-m", "phoenixd.ctl", "--socket", str(stage.runtime / "api.sock"), *words]
    return subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=stage.environ)
