"""What several files of the real CLIs share; one that needs another stage has its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.census import all_ends
from tests.real.claude_cli import require_claude
from tests.real.claude_stage import ClaudeStage


@pytest.fixture
def stage(short_tmp: Path) -> Iterator[ClaudeStage]:
    """Claude Code that asks once more at most where its API refuses."""
    with ClaudeStage(require_claude(), short_tmp) as made:
        made.extra_env = {"CLAUDE_CODE_MAX_RETRIES": "1"}
        yield made
    all_ends(short_tmp)
