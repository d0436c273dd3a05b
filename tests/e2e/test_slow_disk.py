"""The disk of the state directory is slow, and works: nothing is refused and nothing flaps, it only takes longer."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import pytest

from phoenixd.demo.stage import Stage
from tests.slow_disk import slow_syncs

pytestmark = [pytest.mark.slow, pytest.mark.faults, pytest.mark.timeout(600)]

PATIENCE = 120.0
ABOUT_THE_DISK = {"degraded", "slow disk"}


def declare(stage: Stage, *names: str) -> None:
    for name in names:
        rules = 'restart = { early_exit = "0s", productive = "0s" }\nresume = { refused_within = "0s" }\n'
        stage.declare(name, f'[agent.{name}]\nargv = ["sleep", "100000"]\ncwd = "/"\n{rules}')


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
    stage.up()
    for name in ("stays", "stopped", "killed"):
        stage.until_running(name, 1)
    assert stage.process is not None
    with slow_syncs(stage.process.pid, 2.5):
        stopped = stage.ctl("stop", "stopped")
        assert (stopped.returncode, stopped.stderr) == (0, ""), "late is not failed"
        assert "stays so" in stopped.stdout
        os.kill(stage.row("killed")["pid"], signal.SIGKILL)
        stage.until_running("killed", 2, patience=PATIENCE)
        started = stage.ctl("start", "stopped", "--wait")
        assert (started.returncode, started.stderr) == (0, "")
        assert stage.row("stopped")["incarnation"] == 2
        assert alerts(stage) == ["slow disk"]
        assert daemon(stage)["degraded"] is True
    assert stage.row("stays")["incarnation"] == 1
    stage.until("the disk has been well for a while", lambda: not daemon(stage)["degraded"], PATIENCE)
    assert (alerts(stage), alerts(stage, "alert_over")) == (["slow disk"], ["slow disk"])
    stage.kill()
    stage.up()
    assert {name: row["state"] for name, row in stage.rows().items()} == dict.fromkeys(
        ("stays", "stopped", "killed"), "running"
    )
