"""The disk of the state directory is slow, and works: nothing is refused and nothing flaps, it only takes longer."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from contextlib import closing
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
        told = daemon(stage)
        assert (told["degraded"], told["commits"]["worst"] > 2) == (True, True)
        assert "half within" in stage.ctl("doctor").stdout
        stage.kill()
    stage.up()
    rows = stage.rows()
    assert {name: row["state"] for name, row in rows.items()} == dict.fromkeys(rows, "running")
    assert rows["stays"]["incarnation"] == 1
    assert alerts(stage) == ["slow disk"], "another daemon does not tell it again"


def test_a_start_with_a_hundred_declared_agents_is_a_handful_of_commits_and_no_row_for_what_is_known(
    stage: Stage,
) -> None:
    for number in range(100):
        stage.declare(f"a{number:02}", f'[agent.a{number:02}]\nargv = ["sleep", "1"]\ncwd = "/"\nautostart = false\n')
    stage.up()
    assert len(stage.rows()) == 100
    assert daemon(stage)["commits"]["count"] < 10
    stage.kill()
    stage.up()
    assert len(stage.rows()) == 100
    assert daemon(stage)["commits"]["count"] < 10
    with closing(sqlite3.connect(f"file:{stage.state / 'journal.sqlite3'}?mode=ro", uri=True)) as journal:
        rows = journal.execute("SELECT count(*) FROM entries WHERE event = 'agent_declared'").fetchone()
    assert rows == (100,), "one for each when it was new"
