"""The disk under twenty agents is slow, or full now and then: all end as wanted, and each cause is told once."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from phoenixd.demo.stage import Stage
from tests.full_disk import fill, small_disk
from tests.proof.attacks.conftest import AGENTS
from tests.slow_disk import slow_syncs

pytestmark = [pytest.mark.proof, pytest.mark.faults, pytest.mark.timeout(1800)]

PATIENCE = 600.0
ABOUT_THE_DISK = {"degraded", "slow disk", "epoch", "journal"}
NAMES = [f"agent-{number:02}" for number in range(AGENTS)]
RULES = 'restart = { early_exit = "0s", productive = "0s" }\nresume = { refused_within = "0s" }\n'


@pytest.fixture
def disk(short_tmp: Path) -> Iterator[Path]:
    """What is mounted has to be there before the stage, and to stay until the stage is over."""
    with small_disk(short_tmp / "state", "16M") as mount:
        yield mount


def up(stage: Stage) -> None:
    stage.up(wait=False)
    stage.until("the daemon answers", stage.answers, PATIENCE)


def begin(stage: Stage) -> None:
    for name in NAMES:
        stage.declare(name, f'[agent.{name}]\nargv = ["sleep", "100000"]\ncwd = "/"\n{RULES}')
    up(stage)
    stage.until("all run", lambda: all(row["state"] == "running" for row in stage.rows().values()), PATIENCE)


def daemon(stage: Stage) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stage.ask("status", "--json"))["daemon"]
    return found


def alerts(stage: Stage) -> list[str]:
    told = json.loads(stage.ask("events", "--since", "2h", "--all", "--json"))["events"]
    kinds = [row["detail"].get("kind") for row in told if row["event"] == "alert_raised"]
    return sorted(kind for kind in kinds if kind in ABOUT_THE_DISK)


def states(stage: Stage) -> dict[str, tuple[str, int]]:
    return {name: (row["state"], row["incarnation"]) for name, row in stage.rows().items()}


# A decision may wait for the commit before its own, and that one sync three times: four times 0.5 s would be late.
@pytest.mark.parametrize(("seconds", "told"), [(0.2, []), (2.5, ["slow disk"]), (10.0, ["slow disk"])])
def test_f_st_a_slow_disk_ends_with_all_agents_as_wanted_and_one_alert(
    stage: Stage, seconds: float, told: list[str]
) -> None:
    begin(stage)
    stopped, killed = NAMES[:4], NAMES[4:10]
    assert stage.process is not None
    with slow_syncs(stage.process.pid, seconds):
        for name in killed:
            os.kill(stage.row(name)["pid"], signal.SIGKILL)
        for name in stopped:
            done = stage.ctl("stop", name, "--timeout", "5m")
            assert done.returncode == 0, done.stderr
        stage.until(
            "those that were killed are back", lambda: all(states(stage)[n] == ("running", 2) for n in killed), PATIENCE
        )
        back = stage.ctl("start", stopped[0], "--wait", "--timeout", "5m")
        assert back.returncode == 0, back.stderr
        assert alerts(stage) == told
    stage.kill()
    up(stage)
    wanted = {name: ("running", 2 if name in killed or name == stopped[0] else 1) for name in NAMES}
    wanted |= dict.fromkeys(stopped[1:], ("stopped", 1))
    stage.until("all are as wanted", lambda: states(stage) == wanted, PATIENCE)


def test_f_st_3_a_disk_that_flaps_between_full_and_a_little_room_is_one_alert(disk: Path, stage: Stage) -> None:
    begin(stage)
    for turn in range(6):
        fill(disk)
        os.kill(stage.row(NAMES[turn])["pid"], signal.SIGKILL)
        stage.until("it is degraded", lambda: bool(daemon(stage)["degraded"]), PATIENCE)
        (disk / "filler").unlink()
        stage.until("starts go on", lambda: not daemon(stage)["halted"], PATIENCE)
        stage.until("it is back", lambda name=NAMES[turn]: states(stage)[name] == ("running", 2), PATIENCE)  # type: ignore[misc]
    assert alerts(stage).count("degraded") == 1
    stage.until("it has been well for a while", lambda: not daemon(stage)["degraded"], PATIENCE)
    assert alerts(stage).count("degraded") == 1
    assert states(stage) == {name: ("running", 2 if name in NAMES[:6] else 1) for name in NAMES}


def test_a_start_with_a_hundred_declared_agents_is_a_handful_of_commits_and_no_row_for_what_is_known(
    stage: Stage,
) -> None:
    for number in range(100):
        stage.declare(f"a{number:02}", f'[agent.a{number:02}]\nargv = ["sleep", "1"]\ncwd = "/"\nautostart = false\n')
    up(stage)
    assert len(stage.rows()) == 100
    assert daemon(stage)["commits"]["count"] < 10
    stage.kill()
    up(stage)
    assert len(stage.rows()) == 100
    assert daemon(stage)["commits"]["count"] < 10
    with closing(sqlite3.connect(f"file:{stage.state / 'journal.sqlite3'}?mode=ro", uri=True)) as journal:
        rows = journal.execute("SELECT count(*) FROM entries WHERE event = 'agent_declared'").fetchone()
    assert rows == (100,), "one for each when it was new"
