"""The real Claude Code under a real daemon: it starts, works, dies, comes back, and never twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.census import survivors
from tests.real.claude_cli import require_claude
from tests.real.claude_room import bash
from tests.real.claude_stage import GOAL, NAME, ClaudeStage
from tests.waiting import eventually_sync

pytestmark = pytest.mark.real_claude


@pytest.fixture
def stage(short_tmp: Path) -> Iterator[ClaudeStage]:
    with ClaudeStage(require_claude(), short_tmp) as made:
        yield made
    eventually_sync(lambda: not survivors(short_tmp), what="all ends with the stage")


def is_user(record: dict[str, Any]) -> bool:
    return record.get("type") == "user"


def test_it_starts_unattended_and_works_a_turn_that_its_hooks_tell(stage: ClaudeStage) -> None:
    stage.scenario.add(bash("touch made.txt"))
    stage.up()

    first = stage.asked()
    row = stage.until_idle()

    assert first.text == GOAL
    assert (stage.workspace / "made.txt").exists()
    assert (row["hooks"], row["mode"], row["session_id"]) == ("ok", "fresh", first.session_id)
    beat = stage.document("heartbeat.json")
    assert (beat["agent"], beat["pid"]) == (NAME, row["pid"])
