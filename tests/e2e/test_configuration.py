"""Configuration files under a daemon that runs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage

AGENT = '[agent.late]\nargv = ["sleep", "1000"]\nharness = "command"\nautostart = false\ncwd = "/"\n'


def test_a_configuration_directory_that_is_made_later_is_found_by_plan_and_apply(stage: Stage, short_tmp: Path) -> None:
    stage.up()
    assert json.loads(stage.ask("plan", "--json")) == {"changes": [], "after_restart": []}

    os.makedirs(short_tmp / "config" / "phoenixd")
    (short_tmp / "config" / "phoenixd" / "phoenixd.toml").write_text(AGENT)

    (change,) = json.loads(stage.ask("plan", "--json"))["changes"]
    assert (change["agent"], change["action"]) == ("late", "add")
    stage.ask("apply")
    assert stage.row("late")["state"] == "stopped"


def test_settings_of_the_daemons_own_wait_for_its_restart_and_plan_and_apply_say_so(
    stage: Stage, short_tmp: Path
) -> None:
    stage.up()
    os.makedirs(short_tmp / "config" / "phoenixd")
    (short_tmp / "config" / "phoenixd" / "phoenixd.toml").write_text('[alerts]\ncommand = ["/bin/true"]\n')
    for verb in ("plan", "apply"):
        assert json.loads(stage.ask(verb, "--json")) == {"changes": [], "after_restart": ["alerts.command"]}
        assert "phoenixctl down && phoenixctl up" in stage.ask(verb)

    stage.ask("down")
    stage.up()

    assert json.loads(stage.ask("plan", "--json")) == {"changes": [], "after_restart": []}


@pytest.mark.slow
def test_an_agent_that_is_removed_and_added_again_goes_on_counting_over_kill_9_of_the_daemon(stage: Stage) -> None:
    """No incarnation is given twice: what the first life left on disk or in flight can mean nothing to the second."""
    stage.up()
    stage.ask("add", "a", "--cwd", "/", "--", "sleep", "1000")
    stage.ask("start", "a", "--wait")
    stage.ask("restart", "a", "--wait")
    stage.ask("remove", "a")
    stage.kill()
    stage.up()
    stage.ask("add", "a", "--cwd", "/", "--", "sleep", "1000")
    stage.ask("start", "a", "--wait")

    row = stage.row("a")
    assert (row["incarnation"], row["restarts"], row["mode"]) == (3, 0, "fresh")


def test_f_sy_11_an_invalid_configuration_at_reload_changes_nothing_and_is_told(stage: Stage) -> None:
    stage.declare("a", '[agent.a]\nargv = ["sleep", "1000"]\ncwd = "/"\n')
    stage.up()
    pid = stage.until_running("a", 1)["pid"]
    stage.declare("b", '[agent.b]\nargv = ["sleep", "1000"]\ncwd = "/"\nkindd = "loop"\n')
    stage.declare("a", '[agent.a]\nargv = ["sleep", "2000"]\ncwd = "/"\n')

    refused = stage.ctl("apply")

    assert refused.returncode == 2
    assert "kindd" in refused.stderr
    assert list(stage.rows()) == ["a"]
    assert stage.row("a")["pid"] == pid
    stage.declare("b", '[agent.b]\nargv = ["sleep", "1000"]\ncwd = "/"\n')
    stage.ask("apply")
    assert sorted(stage.rows()) == ["a", "b"]
