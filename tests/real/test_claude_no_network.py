"""Claude Code without a network at its first start: no hook tells why it exits, and its terminal alone does."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.real.agent_stage import NAME
from tests.real.claude_stage import ClaudeStage
from tests.real.installed import require

pytestmark = pytest.mark.real_claude


def _has_namespaces() -> bool:
    tried = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return tried.returncode == 0


@pytest.mark.skipif(os.geteuid() != 0 or not _has_namespaces(), reason="only root makes a network namespace here")
def test_a_first_start_without_a_network_is_told_with_its_cause_in_status_explain_and_alert(short_tmp: Path) -> None:
    """At its first start it asks its vendor's own address, whatever ANTHROPIC_BASE_URL says."""
    real = require("claude")
    alone = short_tmp / "claude"
    alone.write_text(f'#!/bin/sh\nexec unshare --net -- {shlex.quote(os.fspath(real))} "$@"\n')
    alone.chmod(0o755)
    with ClaudeStage(alone, short_tmp) as stage:
        (stage.home / ".claude.json").unlink(missing_ok=True)
        stage.up(prompt=None, trusted=False)
        stage.stage.until("it is given up", lambda: stage.row()["state"] == "quarantined", 300)
        row = stage.row()
        assert "Unable to connect to Anthropic services" in row["reason"]
        assert "Unable to connect to Anthropic services" in stage.stage.ask("explain", NAME)
        assert any("Unable to connect to Anthropic services" in item["text"] for item in stage.inbox())
