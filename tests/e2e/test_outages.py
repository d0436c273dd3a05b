"""tmux, shims and the daemon die; agents must neither be lost nor doubled."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.census import incarnations, runs_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

FLEET = 20


def declare_fleet(stage: Stage, count: int, stubborn: int = 0) -> list[str]:
    """Plain agents; the first `stubborn` ignore SIGHUP or leave their session with a child."""
    names = [f"a{number:02}" for number in range(count)]
    for number, name in enumerate(names):
        script = "exec sleep 100000"
        if number < stubborn:
            script = "trap '' HUP; setsid sleep 100000 & sleep 100000" if number % 2 else "trap '' HUP; sleep 100000"
        stage.declare(
            name,
            f'[agent.{name}]\nargv = ["sh", "-c", {json.dumps(script)}]\ncwd = "/"\n'
            f'[agent.{name}.restart]\nproductive = "0s"\n[agent.{name}.resume]\nrefused_within = "0s"\n'
            f'[agent.{name}.stop]\nunproven = "2s"\n',
        )
    return names


def assert_one_each(stage: Stage, names: list[str]) -> None:
    for name in names:
        assert len(incarnations(stage.root, name)) == 1, f"{name} is doubled or gone"


def all_running(stage: Stage, names: list[str]) -> bool:
    rows = stage.rows()
    return all(rows[name]["state"] == "running" for name in names)


def test_f_tmux_2_kill_9_of_the_tmux_server_ends_the_old_trees_and_brings_all_back(stage: Stage) -> None:
    names = declare_fleet(stage, FLEET, stubborn=6)
    stage.up()
    stage.until("all run", lambda: all_running(stage, names), 60)
    old = runs_of(stage.root)
    server = ["tmux", "-S", str(stage.runtime / "tmux.sock"), "display-message", "-p", "#{pid}"]
    os.kill(int(subprocess.run(server, capture_output=True, text=True, check=True).stdout), signal.SIGKILL)
    stage.until(
        "all are back",
        lambda: all(row["incarnation"] >= 2 and row["state"] == "running" for row in stage.rows().values()),
        60,
    )
    assert old & runs_of(stage.root) == set()
    assert_one_each(stage, names)


def test_f_proc_6_kill_9_of_shims_fences_their_trees_and_brings_the_agents_back(stage: Stage) -> None:
    names = declare_fleet(stage, 6, stubborn=3)
    stage.up()
    stage.until("all run", lambda: all_running(stage, names), 60)
    for name in names:
        run = json.loads((stage.state / "agents" / name / "run.json").read_text())
        os.kill(run["shim"]["pid"], signal.SIGKILL)
    stage.until("all are back", lambda: all(row["incarnation"] >= 2 for row in stage.rows().values()), 60)
    stage.until("all run", lambda: all_running(stage, names), 60)
    assert_one_each(stage, names)


@pytest.mark.parametrize("kills", [8, pytest.param(25, marks=pytest.mark.proof)])
def test_f_sy_1_kill_9_of_the_daemon_at_random_instants_loses_no_agent_and_no_order(stage: Stage, kills: int) -> None:
    kill_daemon_under_orders(stage, kills, random.Random(20261121))


def kill_daemon_under_orders(stage: Stage, kills: int, dice: random.Random) -> None:
    """Give orders while the daemon is killed again and again; then compare what was acknowledged with what is."""
    names = declare_fleet(stage, FLEET)
    stage.up()
    stage.until("all run", lambda: all_running(stage, names), 60)
    wanted = dict.fromkeys(names, "running")
    for _ in range(kills):
        name = dice.choice(names)
        verb = dice.choice(["stop", "start", "restart"])
        order = subprocess.Popen(
            [*_ctl(stage), verb, name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=stage.environ
        )
        try:
            order.wait(dice.uniform(0.0, 0.25))
        except subprocess.TimeoutExpired:
            pass
        stage.kill()
        if order.wait() == 0:
            wanted[name] = "stopped" if verb == "stop" else "running"
        else:
            wanted[name] = "either"
        stage.up()
    stage.until("it settles", lambda: _settled(stage, wanted), 60)
    for name in names:
        assert len(incarnations(stage.root, name)) <= 1, f"{name} is doubled"


def _ctl(stage: Stage) -> list[str]:
    import sys

    return [sys.executable, "-m", "phoenixd.ctl", "--socket", str(stage.runtime / "api.sock")]


def _settled(stage: Stage, wanted: dict[str, str]) -> bool:
    rows = stage.rows()
    return all(
        rows[name]["state"] in (("running", "stopped") if state == "either" else (state,))
        and (len(incarnations(stage.root, name)) == 1) == (rows[name]["state"] == "running")
        for name, state in wanted.items()
    )


def test_x25_an_idle_agent_is_the_same_process_after_ten_kills_of_the_daemon(stage: Stage) -> None:
    names = declare_fleet(stage, 3)
    stage.up()
    before = {name: stage.until_running(name, 1)["pid"] for name in names}
    for _ in range(10):
        stage.kill()
        stage.up(wait=False)
    stage.until("the daemon answers", stage.answers)
    stage.until("all run", lambda: all_running(stage, names))
    assert {name: stage.row(name)["pid"] for name in names} == before
    assert all(Path(f"/proc/{pid}").exists() for pid in before.values())
