"""What an operator does by hand to an agent's documents, with a real daemon to which nothing else happens."""

from __future__ import annotations

import json

import pytest

from phoenixd.demo.stage import Stage

pytestmark = pytest.mark.slow


def test_f_st_5_an_edit_of_state_json_is_an_event_while_nothing_else_happens(stage: Stage) -> None:
    """Also of an agent that is down, and with its stale loops (P28). It took up to a minute."""
    stage.declare("a", '[agent.a]\nargv = ["sleep", "1000"]\ncwd = "/"\nautostart = false\n')
    stage.up()
    path = stage.state / "agents" / "a" / "state.json"
    stage.until("its state.json is there", path.exists)
    state = json.loads(path.read_text())
    state["open_loops"] = [{"id": "auth-flow", "text": "OAuth redirect not tested", "added": "2020-01-02"}]
    path.write_text(json.dumps(state))

    def edits() -> list[str]:
        told = json.loads(stage.ask("events", "a", "--json"))["events"]
        return [event["reason"] for event in told if event["event"] == "state_edited"]

    stage.until("the edit is told", lambda: len(edits()) == 1)
    assert stage.row("a")["stale_loops"] == 1
    assert json.loads(path.read_text())["open_loops"][0]["stale"] is True
