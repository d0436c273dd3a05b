"""What an operator did to several agents is taken back as one, also by the next daemon: the same spec and session."""

from __future__ import annotations

import json
import os
from typing import Any

from phoenixd.demo.stage import Stage


def kept(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["name"], row["session_id"], row["kind"], row["harness"]


def test_stop_and_remove_are_taken_back_after_kill_9_of_the_daemon(stage: Stage) -> None:
    stage.up()
    for name in ("shop-api", "shop-web", "docs"):
        stage.ask("add", name, "--cwd", "/", "--env", f"NAME={name}", "--", "sleep", "100000")
        stage.ask("start", name, "--wait")
    before = {name: kept(row) for name, row in stage.rows().items()}
    declared = (stage.state / "agents.d" / "docs.toml").read_text()

    stage.ask("stop", "shop-*", "--yes")
    stage.ask("remove", "docs")
    assert sorted(stage.rows()) == ["shop-api", "shop-web"]
    stage.kill()
    stage.up()

    stage.ask("undo")
    assert kept(stage.until_running("docs", 2, ["resume"])) == before["docs"]
    assert (stage.state / "agents.d" / "docs.toml").read_text() == declared
    stage.ask("undo", "--yes")
    for name in ("shop-api", "shop-web"):
        assert kept(stage.until_running(name, 2, ["resume"])) == before[name]
    assert stage.ctl("undo").returncode == 4
    orders = json.loads(stage.ask("since", "1h", "--json"))["orders"]
    counted = {verb: number for verb, number in orders.items() if number}
    assert counted == {"declare": 3, "start": 3, "stop": 2, "remove": 1, "undo": 3}, "an undo is an undo alone"


def test_an_agent_whose_name_was_given_away_comes_back_as_the_refusal_says(stage: Stage) -> None:
    stage.up()
    stage.ask("add", "docs", "--cwd", "/", "--env", "N=1", "--", "sleep", "100000")
    stage.ask("start", "docs", "--wait")
    declared = (stage.state / "agents.d" / "docs.toml").read_text()
    before = kept(stage.row("docs"))
    stage.ask("remove", "docs")
    stage.ask("add", "docs", "--cwd", "/", "--", "sleep", "200000")
    stage.ask("start", "docs", "--wait")

    refused = stage.ctl("undo", "docs")

    assert refused.returncode == 6
    assert "there is an agent docs again, which is another one" in refused.stdout + refused.stderr
    first, second = (refused.stdout + refused.stderr).partition("do: phoenixctl ")[2].strip().split(" && phoenixctl ")
    stage.ask(*first.split())
    # Nothing is left behind by a declaration that cannot be read.
    (stage.state / "agents.d" / "docs.toml").write_text("[agent.docs]\nargv = []\n")
    assert stage.ctl(*second.split()).returncode == 6
    (stage.state / "agents.d" / "docs.toml").unlink()
    stage.ask(*second.split())
    assert (stage.state / "agents.d" / "docs.toml").read_text() == declared
    row = stage.until_running("docs", 3, ["resume"])
    assert kept(row) == before


def test_a_clock_that_jumps_ahead_forgets_no_declaration_that_the_journal_can_take_back(stage: Stage) -> None:
    stage.up()
    for name in ("docs", "shop"):
        stage.ask("add", name, "--cwd", "/", "--", "sleep", "100000")
    stage.ask("remove", "docs")
    (there,) = (stage.state / "removed").iterdir()
    # As it looks to a clock that has jumped ahead; the other one is of an act that the journal knows nothing of.
    os.utime(there, (1000, 1000))
    forgotten = there.with_name("docs.0.toml")
    forgotten.write_bytes(there.read_bytes())
    os.utime(forgotten, (1000, 1000))

    stage.ask("remove", "shop")

    assert there.exists()
    assert not forgotten.exists()
    stage.ask("undo", "docs")
    assert "docs" in stage.rows()


def test_a_fresh_start_is_taken_back_into_the_session_before(stage: Stage) -> None:
    stage.up()
    stage.ask("add", "docs", "--cwd", "/", "--", "sleep", "100000")
    stage.ask("start", "docs", "--wait")
    before = stage.row("docs")["session_id"]
    stage.ask("restart", "docs", "--fresh", "--wait")
    assert stage.row("docs")["session_id"] != before
    stage.kill()
    stage.up()

    stage.ask("undo")

    assert stage.until_running("docs", 3, ["resume"])["session_id"] == before


def test_down_agents_is_an_act_and_the_next_daemon_says_how_long_nobody_watched(stage: Stage) -> None:
    stage.up()
    for name in ("shop", "docs"):
        stage.ask("add", name, "--cwd", "/", "--", "sleep", "100000")
        stage.ask("start", name, "--wait")
    stage.ask("stop", "docs")
    stage.ask("down", "--agents")
    stage.up()

    stage.ask("undo")

    stage.until_running("shop", 2, ["resume"])
    assert stage.row("docs")["state"] == "stopped"
    stage.kill()
    stage.up()
    told = json.loads(stage.ask("since", "1h", "--json"))["unwatched"]
    assert [one["ended_by"] for one in told] == ["phoenixctl down", None]
    assert "the one before was killed, or died" in stage.ask("events")
