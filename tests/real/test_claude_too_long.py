"""What begins too long for the real Claude Code's API is begun once, and a person is called (F-HO-1)."""

from __future__ import annotations

import pytest

from tests.real.claude_stage import ClaudeStage
from tests.stub.scenario import Rejection, Step
from tests.waiting import eventually_sync

pytestmark = pytest.mark.real_claude

PATIENCE = 90
TOO_LONG = Rejection(413, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum")


def refused(stage: ClaudeStage) -> None:
    """Wait until a person is called."""
    eventually_sync(stage.inbox, PATIENCE, "a person is called")


@pytest.mark.proof
def test_f_ho_1_a_first_prompt_that_is_refused_as_too_long_is_not_begun_again(stage: ClaudeStage) -> None:
    stage.scenario.add(Step(match="Work through", error=TOO_LONG))
    stage.up()
    refused(stage)

    (item,) = stage.inbox()
    assert (item["kind"], stage.row()["incarnation"], stage.row()["state"]) == ("too long", 1, "running")
    assert "208310 tokens > 200000 maximum" in item["text"]
    assert " bytes was refused" in item["text"]

    assert stage.send("Only the till.").returncode == 0
    stage.asked("Only the till")
    stage.until_idle()
    eventually_sync(lambda: not stage.inbox(), PATIENCE, "nobody is asked any more")
    assert stage.row()["incarnation"] == 1


@pytest.mark.proof
def test_f_ho_1_an_operators_start_tries_at_once_in_a_fresh_session(stage: ClaudeStage) -> None:
    stage.scenario.add(Step(match="Work through", error=TOO_LONG, times=None))
    stage.up()
    refused(stage)
    first = stage.row()["session_id"]

    assert stage.stage.ctl("start", "builder").returncode == 0
    stage.until("another run", lambda row: row["incarnation"] == 2 and row["state"] == "running")
    refused(stage)

    assert stage.row()["session_id"] != first
    assert stage.row()["incarnation"] == 2
