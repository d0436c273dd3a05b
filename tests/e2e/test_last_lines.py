"""P72: a daemon that is killed between a decision and its line in ops.jsonl leaves that line to the next one."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from phoenixd.demo.stage import Stage

KILLS = 2
"""Each right after an order was answered: the documents follow a tenth of a second later."""


def decided(stage: Stage) -> Counter[str]:
    rows: list[dict[str, Any]] = json.loads(stage.ask("events", "a", "--all", "--json"))["events"]
    return Counter(row["reason"] for row in rows if row["state"] and row["reason"])


def written(stage: Stage) -> Counter[str]:
    log = stage.state / "agents" / "a" / "ops.jsonl"
    lines = log.read_text().splitlines() if log.exists() else []
    return Counter(reason for line in lines if (reason := json.loads(line)["meta"].get("reason")))


def test_p72_each_decision_has_its_line_also_where_the_daemon_was_killed_at_once(stage: Stage) -> None:
    stage.declare("a", '[agent.a]\nargv = ["sleep", "1000"]\ncwd = "/"\n')
    stage.up()
    stage.until_running("a", 1)
    for number in range(KILLS):
        stage.ask("start" if number % 2 else "stop", "a")
        stage.kill()
        stage.up()

    stage.until("each decision has its line", lambda: written(stage) == decided(stage))
    assert len(written(stage)) >= KILLS, written(stage)
