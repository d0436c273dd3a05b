"""Failures of the real Claude Code: each has a Case that says what was done, and no remedy is repeated."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from phoenixd.core.cut import GO_ON
from phoenixd.harness.pins import PINS
from tests.real.claude_stage import ClaudeStage
from tests.real.installed import require
from tests.stub.scenario import Rejection, Step
from tests.waiting import eventually_sync

pytestmark = pytest.mark.real_claude

PATIENCE = 90
TOO_LONG = Rejection(400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum")


def cases(stage: ClaudeStage) -> list[dict[str, Any]]:
    """All Cases of the last hour, the oldest first."""
    found: list[dict[str, Any]] = stage.get("/v1/clinic")["cases"]
    return sorted(found, key=lambda case: case["id"])


def shown(stage: ClaudeStage, case: str) -> dict[str, Any]:
    """A Case with its steps, once the journal has it: the fleet knows it a moment earlier."""
    found: dict[str, Any] = eventually_sync(
        lambda: stage.get(f"/v1/clinic/{case}").get("case"), PATIENCE, f"the journal keeps {case}"
    )
    return found


def treatments(stage: ClaudeStage, case: str) -> list[str]:
    """What was done about one Case, in order."""
    return [one["prescription"]["treatment"] for one in shown(stage, case)["rehabilitation"]]


@pytest.mark.proof
def test_c10_a_prompt_too_long_comes_back_fresh_with_a_summary_and_works(stage: ClaudeStage) -> None:
    stage.up()
    first = stage.asked()
    stage.until_idle()
    stage.scenario.add(Step(match="Build the till", error=TOO_LONG, times=None))

    assert stage.send("Build the till.").returncode == 0
    row = stage.until_idle(incarnation=2)

    assert row["mode"] == "fresh"
    assert row["session_id"] != first.session_id
    anew = next(one for one in stage.stub.main_requests() if one.session_id == row["session_id"])
    assert "Build the till." in anew.whole_text, "the task in hand stands in the brief"
    assert [(one["cause"], one["incidents"]) for one in cases(stage)] == [("context_length_exceeded", 1)]


@pytest.mark.proof
def test_a_refused_login_is_not_restarted_and_is_one_item_of_one_case(stage: ClaudeStage) -> None:
    stage.scenario.add(Step(error=Rejection(401, "authentication_error", "invalid x-api-key"), times=None))
    stage.up()
    eventually_sync(lambda: stage.inbox() and cases(stage), PATIENCE, "a person is asked")

    assert [item["kind"] for item in stage.inbox()] == ["login"]
    assert (stage.row()["incarnation"], stage.row()["restarts"]) == (1, 0)
    (case,) = cases(stage)
    assert (case["cause"], case["detail"], case["incidents"]) == ("logic_error", "login", 1)
    assert treatments(stage, case["id"]) == ["ask"]


@pytest.mark.proof
def test_a_request_that_the_api_refuses_without_a_class_parks_nobody_and_a_person_is_asked(stage: ClaudeStage) -> None:
    """Claude Code calls it `unknown`, as it does what it cannot name."""
    said = "tools.14.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12."
    stage.scenario.add(Step(error=Rejection(400, "invalid_request_error", said), times=None))
    stage.up()
    eventually_sync(lambda: stage.inbox() and cases(stage), PATIENCE, "a person is asked")

    assert [item["kind"] for item in stage.inbox()] == ["failed turn"]
    assert stage.inbox()[0]["text"].startswith("unknown: API Error: 400")
    assert (stage.row()["state"], stage.row()["restarts"]) == ("running", 0)
    assert [(one["cause"], one["detail"]) for one in cases(stage)] == [("logic_error", "request")]


@pytest.mark.proof
def test_an_output_limit_for_ever_is_gone_on_with_once_and_then_asked_about(stage: ClaudeStage) -> None:
    stage.scenario.add(Step(text="x" * 200, stop="output_limit", times=None))
    stage.up(keys='liveness = { check_interval = "1s" }')
    stage.asked(re.escape(GO_ON))
    eventually_sync(lambda: stage.inbox(), PATIENCE, "a person is asked")

    assert [item["kind"] for item in stage.inbox()] == ["failed turn"]
    hooks = [one["detail"] for one in stage.events() if one["event"] == "hook_seen"]
    assert len([one for one in hooks if one.get("kind") == "prompt-submit" and GO_ON in str(one.get("text"))]) == 1
    assert (stage.row()["incarnation"], stage.row()["restarts"]) == (1, 0)
    (case,) = cases(stage)
    assert (case["cause"], case["detail"]) == ("logic_error", "output_limit")
    assert treatments(stage, case["id"]).count("go_on") == 1


@pytest.mark.proof
@pytest.mark.parametrize("pin", PINS["claude"])
def test_the_status_of_a_failed_turn_comes_from_the_transcript_and_says_more_than_the_hook(
    pin: str, short_tmp: Path
) -> None:
    """The words that the StopFailure hook has of a model that is not there name no status."""

    def evidence(stage: ClaudeStage) -> list[dict[str, Any]]:
        details = [shown(stage, one["id"]) for one in cases(stage) if one["detail"] == "model"]
        return [told["evidence"] for one in details for told in one["triage"] if "status" in told["evidence"]]

    with ClaudeStage(require("claude", pin), short_tmp) as stage:
        stage.extra_env = {"CLAUDE_CODE_MAX_RETRIES": "1"}
        stage.scenario.add(Step(error=Rejection(404, "not_found_error", "Not Found"), times=None))
        stage.up()
        stage.asked()
        eventually_sync(lambda: evidence(stage), PATIENCE, "its Case has the status that the transcript told")
        (told,) = evidence(stage)

    assert (told["status"], told["failure"], told["word"]) == (404, "request", "model_not_found")
    assert "404" not in told["said"]


@pytest.mark.proof
def test_the_same_crash_three_times_has_three_answers(stage: ClaudeStage) -> None:
    stage.up()
    stage.asked()
    stage.until_idle()
    for incarnation in (1, 2, 3):
        number = stage.stub.main_requests()[-1].number
        stage.scenario.add(Step(fault="hang"))
        assert stage.send(f"Build part {incarnation}.").returncode == 0
        stage.asked(after=number)
        stage.kill_agent()
        stage.until_idle(incarnation=incarnation + 1)

    (case,) = cases(stage)
    assert case["incidents"] == 3
    # Somebody killed it: that says nothing of its session, which is resumed once more, advised.
    assert treatments(stage, case["id"]) == ["resume", "advise", "resume", "fresh"]
