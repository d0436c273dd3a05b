"""A turn of the real Codex that the API refuses: its rollout alone tells, and the agent is no longer shown at work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.harness.pins import PINS
from tests.e2e.census import all_ends
from tests.real.agent_stage import AgentStage
from tests.real.codex_cli import CodexCli
from tests.real.installed import require
from tests.stub.scenario import Rejection, Step

pytestmark = [pytest.mark.real_claude, pytest.mark.proof]

NO_LOOK = 'liveness = { check_interval = "6h", stale = "6h", subagent_max = "12h", busy_max = "12h" }'
"""No look at its screen, and none at its files but for what the kernel tells of them."""


@pytest.fixture(params=PINS["codex"])
def stage(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[AgentStage]:
    with AgentStage(CodexCli(require("codex", request.param)), short_tmp) as made:
        yield made
    all_ends(short_tmp)


def test_a_request_that_is_refused_ends_the_turn_as_soon_as_its_rollout_says_so(stage: AgentStage) -> None:
    refused = Rejection(400, "invalid_request_error", "Unsupported parameter: 'tools[3].strict'.")
    stage.scenario.add(Step(error=refused, times=None))
    stage.up(keys=NO_LOOK)

    row = stage.until("a person is asked", lambda row: row["activity"] == "waiting")

    assert row["waiting_for"].startswith("failed turn (")
    assert "Unsupported parameter" in row["waiting_for"]
    assert row["state"] == "running"


def test_a_limit_in_a_later_turn_parks_the_agent_as_soon_as_its_rollout_says_so(stage: AgentStage) -> None:
    stage.up(keys=NO_LOOK)
    stage.until_idle()
    refused = Rejection(429, "rate_limit_exceeded", "Rate limit reached for requests.")
    stage.scenario.add(Step(match="Build the till", error=refused, times=None))
    assert stage.send("Build the till.").returncode == 0

    row = stage.until("it is parked", lambda row: row["state"] == "parked")

    assert row["parked_until"] is not None
