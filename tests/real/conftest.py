"""What several files of the real CLIs share; one that needs another stage has its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.census import survivors
from tests.real.claude_cli import require_claude
from tests.real.claude_stage import ClaudeStage
from tests.waiting import eventually_sync


@pytest.fixture
def stage(short_tmp: Path) -> Iterator[ClaudeStage]:
    """Claude Code that asks once more at most where its API refuses."""
    with ClaudeStage(require_claude(), short_tmp) as made:
        made.extra_env = {"CLAUDE_CODE_MAX_RETRIES": "1"}
        yield made
    eventually_sync(lambda: not survivors(short_tmp), what=f"all ends with the stage, but not {survivors(short_tmp)}")
