"""Who achieves nothing is given up after eight runs, and who works is resumed, with everything real (promise 13)."""

from __future__ import annotations

import json
import os
import sys

import pytest

from phoenixd.demo.stage import Stage
from tests.drivers.repositories import make_repository

pytestmark = pytest.mark.slow

RULES = (
    'restart = { max_crashes = 100, backoff_initial = "10ms", backoff_max = "10ms" }\n'
    'resume = { refused_within = "0s" }\n'
)


def test_promise_13_eight_runs_in_vain_are_the_end_and_turns_and_changed_work_are_not(stage: Stage) -> None:
    environ = {"PYTHONPATH": os.getcwd()}
    for name in ("nothing", "turn", "work"):
        (stage.root / name).mkdir()
        work = make_repository(stage.root / name)
        argv = json.dumps([sys.executable, "-m", "tests.e2e.mortal_agent", name])
        stage.declare(
            name,
            f'[agent.{name}]\nargv = {argv}\ncwd = "{work}"\nprompt = "Build the shop."\n{RULES}'
            f'[agent.{name}.env]\nPYTHONPATH = "{environ["PYTHONPATH"]}"\n',
        )
    stage.up()
    stage.until("it is given up", lambda: stage.row("nothing")["state"] == "quarantined", patience=60)
    assert stage.row("nothing")["incarnation"] == 8
    assert "8 runs in a row" in stage.row("nothing")["reason"]
    for name in ("turn", "work"):
        stage.until(f"{name} goes on", lambda name=name: stage.row(name)["incarnation"] > 12, patience=60)
    assert [row["state"] for row in stage.rows().values()].count("quarantined") == 1
    told = json.loads(stage.ask("inbox", "--json"))["items"]
    assert [(item["agent"], item["kind"]) for item in told] == [("nothing", "quarantined")]
