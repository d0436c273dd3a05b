"""Builds under the real Claude Code: one that works completes, one that blocks is ended, and the next run is told."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.e2e.census import all_ends
from tests.e2e.test_builds import BLOCKED, BUILD
from tests.ending import A_WHILE
from tests.real.claude_cli import require_claude
from tests.real.claude_room import bash
from tests.real.claude_stage import ClaudeStage

pytestmark = pytest.mark.real_claude

KEYS = 'liveness = { stale = "9s", check_interval = "5s" }\nstop = { grace = "1s" }'
LONGER = 15.0
"""Seconds of silence that are to 9 what 25 minutes are to 15."""


@pytest.fixture
def stage(short_tmp: Path) -> Iterator[ClaudeStage]:
    with ClaudeStage(require_claude(), short_tmp) as made:
        yield made
    all_ends(short_tmp)


def silence(last_evidence: str | None) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(last_evidence)).total_seconds() if last_evidence else 0.0


@pytest.mark.proof  # The gate has tests/e2e/test_builds.py.
def test_promise_4_a_build_of_25_minutes_scaled_completes_at_its_first_try(stage: ClaudeStage) -> None:
    over = stage.workspace / "over"
    build = BUILD.replace("OVER", shlex.quote(str(over)))
    told = f"while {A_WHILE}; do echo compiling; sleep 0.2; done & told=$!"
    stage.scenario.add(bash(f"{told}; {build.removesuffix('wait')} kill $told; wait"))
    stage.up(keys=KEYS)
    first = stage.asked()

    stage.until(
        "the build has been silent for long, or was ended",
        lambda row: row["incarnation"] > 1 or silence(row["last_evidence"]) > LONGER,
    )
    assert stage.row()["incarnation"] == 1
    over.touch()

    told = stage.asked(after=first.number)
    assert "compiling" in told.whole_text
    row = stage.until_idle()
    assert row["incarnation"] == 1
    assert not [one for one in stage.events() if "hung" in str(one.get("reason"))]


def test_promise_4_a_blocked_test_beside_a_spinner_is_ended_and_the_next_run_is_told_what_to_do(
    stage: ClaudeStage,
) -> None:
    stage.scenario.add(bash(BLOCKED))
    stage.up(keys=KEYS)
    first = stage.asked()

    again = stage.asked("You were interrupted", after=first.number)

    assert again.session_id == first.session_id
    assert "It was in a call of Bash, `echo" in again.text
    assert "declare a timeout for a call that takes long, or run it in the background" in again.text
    stage.until_idle(incarnation=2)
    assert "declare a timeout" in (stage.directory / "brief.md").read_text()
