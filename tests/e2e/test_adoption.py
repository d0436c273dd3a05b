"""A daemon that is killed while it takes over what lives, as often as it likes, loses nothing."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import Any

import pytest

from phoenixd.demo.stage import Stage
from phoenixd.documents.times import timestamp
from tests.e2e.census import incarnations

AGENTS = [f"a{number:02}" for number in range(12)]
LOOP = {"id": "auth-flow", "text": "OAuth redirect not tested", "added": "2026-11-15"}
TOLD = "session-start.1.json"
"""The last to be written."""
UNCHANGED = ("brief.md", "session-start.1.txt", "session.json", TOLD)

pytestmark = pytest.mark.slow


def papers(stage: Stage, name: str) -> dict[str, str]:
    directory = stage.state / "agents" / name
    return {one: (directory / one).read_text() if (directory / one).exists() else "" for one in UNCHANGED}


def loops(stage: Stage, key: str) -> list[str]:
    """The ids that the first agent's state.json has there."""
    return [one["id"] for one in json.loads((stage.state / "agents" / AGENTS[0] / "state.json").read_text())[key]]


def is_back(row: dict[str, Any]) -> bool:
    return row["state"] == "running" and int(row["incarnation"]) > 1


def adopted(stage: Stage, known: int) -> set[str]:
    """Those that the newest daemon has taken over, by its log behind what was known of it."""
    lines = stage.log.read_bytes()[known:].split(b"\n")[:-1]
    return {json.loads(line)["agent"] for line in lines if b'"run_adopted"' in line}


def test_f_sy_1_a_daemon_that_is_killed_in_the_middle_of_its_adoption_loses_nothing(stage: Stage) -> None:
    for name in AGENTS:
        stage.declare(name, f'[agent.{name}]\nargv = ["sleep", "100000"]\ncwd = "/"\n')
    stage.up()
    pids = {name: stage.until_running(name, 1)["pid"] for name in AGENTS}
    told = stage.state / "agents" / AGENTS[0]
    stage.until(
        "all are told of their start", lambda: all("its program began" in papers(stage, one)[TOLD] for one in AGENTS)
    )
    stage.kill()
    before = {name: papers(stage, name) for name in AGENTS}

    # Meanwhile an operator opens a loop and closes another, and an agent dies.
    document = json.loads((told / "state.json").read_text())
    (told / "state.json").write_text(json.dumps({**document, "open_loops": [LOOP, {**LOOP, "id": "second"}]}))
    line = {"id": "auth-flow", "reason": "tested", "ts": timestamp(time.time()), "domain": AGENTS[0]}
    (told / "resolved.jsonl").write_text(json.dumps(line) + "\n")
    os.kill(pids[AGENTS[-1]], signal.SIGKILL)
    for enough in (1, 3, 5, 8, len(AGENTS) - 1):
        known = stage.log.stat().st_size
        stage.up(wait=False)
        stage.until(f"{enough} are adopted", lambda known=known, enough=enough: len(adopted(stage, known)) >= enough)
        stage.kill()
    stage.up()

    for name in AGENTS[:-1]:
        assert stage.until_running(name, 1)["pid"] == pids[name]
        assert len(incarnations(stage.root, name)) == 1
    # A start that the kill fell into is given up, and counted.
    stage.until("the dead one is back", lambda: is_back(stage.row(AGENTS[-1])))
    assert len(incarnations(stage.root, AGENTS[-1])) == 1
    stage.until("the loop is closed", lambda: loops(stage, "open_loops") == ["second"])
    assert loops(stage, "resolved") == ["auth-flow"]
    assert {name: papers(stage, name) for name in AGENTS[1:-1]} == {name: before[name] for name in AGENTS[1:-1]}
