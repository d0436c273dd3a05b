"""Configuration files under a daemon that runs."""

from __future__ import annotations

import json
import os
from pathlib import Path

from phoenixd.demo.stage import Stage

AGENT = '[agent.late]\nargv = ["sleep", "1000"]\nharness = "command"\nautostart = false\ncwd = "/"\n'


def test_a_configuration_directory_that_is_made_later_is_found_by_plan_and_apply(stage: Stage, short_tmp: Path) -> None:
    stage.up()
    assert json.loads(stage.ask("plan", "--json")) == {"changes": []}

    os.makedirs(short_tmp / "config" / "phoenixd")
    (short_tmp / "config" / "phoenixd" / "phoenixd.toml").write_text(AGENT)

    (change,) = json.loads(stage.ask("plan", "--json"))["changes"]
    assert (change["agent"], change["action"]) == ("late", "add")
    stage.ask("apply")
    assert stage.row("late")["state"] == "stopped"
