"""An agent that ends each turn well and asks to be recycled for ever, for real: its work is measured, it is stopped."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage

pytestmark = pytest.mark.slow

ROUND = """
say() { printf '%s' "$2" | "$PHOENIX_HOOK" "$1"; }
say session-start '{"source": "startup"}'
say prompt-submit '{"prompt": "Look at the shop."}'
say tool-end '{"tool_name": "Bash"}'
CHANGE
say stop '{}'
exit 100
"""


def goes_round(stage: Stage, workspace: Path, change: str) -> None:
    subprocess.run(["git", "init", "--quiet", workspace], check=True)
    script = ROUND.replace("CHANGE", change)
    stage.declare(
        "boss",
        f'[agent.boss]\nkind = "orchestrator"\nargv = ["sh", "-c", {json.dumps(script)}]\ncwd = "{workspace}"\n',
    )
    stage.up()


def test_f_ho_21_who_asks_to_be_recycled_for_ever_and_changes_nothing_is_stopped(stage: Stage, short_tmp: Path) -> None:
    workspace = short_tmp / "shop"
    goes_round(stage, workspace, ":")
    stage.until("the breaker stops it", lambda: stage.row("boss")["state"] == "quarantined", 240)
    row = stage.row("boss")
    assert "5 recycled runs without progress, the limit is 5" in row["reason"]
    assert row["breaker"]["state"] == "OPEN"


def test_who_changes_something_before_it_asks_to_be_recycled_is_begun_again(stage: Stage, short_tmp: Path) -> None:
    workspace = short_tmp / "shop"
    goes_round(stage, workspace, 'echo "$PHOENIX_INCARNATION" > done')
    stage.until("the eighth run", lambda: stage.row("boss")["incarnation"] >= 8, 300)
    row = stage.row("boss")
    assert row["state"] != "quarantined"
    assert row["breaker"] == {"state": "CLOSED", "no_progress_count": 0}
