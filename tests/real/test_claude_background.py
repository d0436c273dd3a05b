"""What goes on in the background of a real Claude Code ends with it; its next run and its people are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.core.background import KIND
from tests.e2e.census import all_ends
from tests.real.claude_room import bash
from tests.real.claude_stage import ClaudeStage
from tests.real.installed import require
from tests.stub.scenario import Step, ToolUse
from tests.waiting import eventually_sync

pytestmark = pytest.mark.real_claude

CRON = ToolUse("CronCreate", {"cron": "*/5 * * * *", "prompt": "Check the queue.", "recurring": True})


@pytest.fixture
def stage(short_tmp: Path) -> Iterator[ClaudeStage]:
    with ClaudeStage(require("claude"), short_tmp) as made:
        yield made
    all_ends(short_tmp)


def test_a_background_command_and_a_schedule_that_died_with_a_run_are_told_until_the_next_turn_is_over(
    stage: ClaudeStage,
) -> None:
    stage.settings = {"permissions": {"allow": ["Bash(*)", "CronCreate"]}}
    stage.scenario.add(bash("exec sleep 3000", run_in_background=True), Step(tool_use=(CRON,)), Step(text="Both run."))
    stage.up()
    stage.until_idle()
    stage.scenario.add(Step(fault="hang", match="Wait for them"), Step(match="task-notification", hold="told"))
    assert stage.send("Wait for them.").returncode == 0
    asked = stage.asked("Wait for them")
    stage.wait_record(str(asked.session_id), lambda record: "Wait for them" in str(record.get("message")))

    stage.kill_agent()

    # The CLI itself has a word about the command at a resume, and none about the schedule.
    stage.asked("task-notification", after=asked.number)
    assert [item["kind"] for item in stage.inbox()] == [KIND]
    assert "exec sleep 3000" in stage.inbox()[0]["text"]
    stage.stub.open_gate("told")
    again = stage.asked("You were interrupted", after=asked.number)
    assert "shell: exec sleep 3000; schedule: */5 * * * * Check the queue." in again.text
    eventually_sync(lambda: stage.inbox() == [], 60, "the item is closed")
