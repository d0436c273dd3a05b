"""Who achieves nothing is given up after eight runs, and who works is resumed, with everything real (promise 13)."""

from __future__ import annotations

import json
import os
import sys

import pytest

from phoenixd.demo.stage import Stage
from tests.drivers.git.repositories import make_repository
from tests.e2e import mortal_agent

pytestmark = pytest.mark.slow

RULES = (
    'restart = { max_crashes = 100, backoff_initial = "10ms", backoff_max = "10ms" }\n'
    'resume = { refused_within = "0s" }\n'
)


def test_promise_13_eight_runs_in_vain_are_the_end_and_turns_and_changed_work_are_not(stage: Stage) -> None:
    for name in ("nothing", "turn", "work"):
        (stage.root / name).mkdir()
        work = make_repository(stage.root / name)
        argv = json.dumps([sys.executable, "-I", "-S", mortal_agent.__file__, name])
        stage.declare(
            name,
            f'[agent.{name}]\nargv = {argv}\ncwd = "{work}"\nprompt = "Build the shop."\n{RULES}',
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


def test_an_outage_of_an_account_is_waited_out_together_also_over_kill_9_of_the_daemon(stage: Stage) -> None:
    service = stage.root / "service"
    argv = json.dumps([sys.executable, "-I", "-S", mortal_agent.__file__, str(service)])
    names = ("a0", "a1", "a2")
    (stage.state / "agents.d" / "00.toml").write_text('[fleet]\nresume_every = "0.2s"\n')
    for name in names:
        stage.declare(
            name,
            f'[agent.{name}]\nargv = {argv}\ncwd = "{os.getcwd()}"\nprompt = "Build the shop."\naccount = "team"\n'
            f'autostart = false\nlimits = {{ overload_wait = "1s", wait_max = "2s" }}\n{RULES}',
        )
    stage.up()
    for name in names:
        stage.ask("start", name)

    def told() -> list[str]:
        return [one["kind"] for one in json.loads(stage.ask("status", "--json"))["daemon"]["alerts"]]

    stage.until("the outage is told", lambda: told() == ["outage: account team"])
    stage.kill()
    stage.up()
    assert told() == ["outage: account team"]
    assert {row["state"] for row in stage.rows().values()} <= {"parked", "backing_off", "starting", "running"}
    service.mkdir()
    stage.until("the outage is over", lambda: told() == [], patience=60)
    stage.until("all are back", lambda: {row["state"] for row in stage.rows().values()} == {"running"}, patience=90)
    assert json.loads(stage.ask("inbox", "--json"))["items"] == []
