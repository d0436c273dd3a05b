"""The real Claude Code at a rate limit and in an overload: it stops its turn, is parked, and is told to go on once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.claude_cli import require_claude
from tests.real.claude_stage import ClaudeStage
from tests.stub.scenario import Rejection, Step

pytestmark = pytest.mark.real_claude
GO_ON = "Go on where you stopped"


@pytest.fixture
def stage(short_tmp: Path) -> Iterator[ClaudeStage]:
    with ClaudeStage(require_claude(), short_tmp) as stage:
        yield stage


@pytest.mark.parametrize(
    ("rejection", "says"),
    [
        (Rejection(429, "rate_limit_error", "stub limit", retry_after=3600), "no reset time was named"),
        pytest.param(
            Rejection(529, "overloaded_error", "Overloaded"), "an overload or outage", marks=pytest.mark.proof
        ),
    ],
)
def test_f_proc_26_a_turn_that_the_service_ended_is_gone_on_with(
    stage: ClaudeStage, rejection: Rejection, says: str
) -> None:
    stage.extra_env = {"CLAUDE_CODE_MAX_RETRIES": "1"}
    stage.scenario.add(Step(error=rejection, times=None, match=rf"^(?!.*{GO_ON}).*docs/plan\.md"))
    stage.up(keys='limits = {wait = "6s", overload_wait = "6s", wait_max = "6s"}')

    parked = stage.until("it is parked", lambda row: row["state"] == "parked")

    assert parked["parked_until"] is not None
    assert parked["activity"] is None
    assert says in parked["reason"]
    tried = len(stage.stub.main_requests())
    stage.asked(GO_ON)
    between = [request.text for request in stage.stub.main_requests()[tried:] if GO_ON not in request.text]
    assert between == []
    row = stage.until_idle()
    assert (row["incarnation"], row["restarts"]) == (1, 0)
    assert len([request for request in stage.stub.main_requests() if GO_ON in request.text]) == 1
    assert "docs/plan.md" in stage.document("state.json")["current_task"]
