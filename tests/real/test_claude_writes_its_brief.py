"""The real Claude Code as writer of its agent's brief, under a daemon: beside the session, and never while parked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.census import all_ends
from tests.real.agent_stage import PATIENCE
from tests.real.claude_cli import require_claude
from tests.real.claude_stage import NAME, ClaudeStage
from tests.real.clis import Claude
from tests.stub.recorded import RecordedRequest
from tests.stub.scenario import Step
from tests.waiting import eventually_sync

pytestmark = pytest.mark.real_claude

SAID = "The receipts are printed again, but the footer of the second page is still missing."
ANSWER = {
    "agent": NAME,
    "resolved": [],
    "open_loops": [{"id": "footer-missing", "text": "The footer of the second page is still missing.", "quote": SAID}],
}


@pytest.fixture
def stage(short_tmp: Path) -> Iterator[ClaudeStage]:
    with ClaudeStage(require_claude(), short_tmp) as made:
        yield made
    all_ends(short_tmp)


def shown(stage: ClaudeStage) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stage.stage.ctl("brief", "show", NAME, "--json").stdout)
    return found


def asked_to_write(stage: ClaudeStage) -> list[RecordedRequest]:
    return [request for request in stage.stub.requests if request.is_message and "JSON Schema" in request.whole_text]


def test_its_own_cli_writes_the_brief_beside_the_session_and_never_while_it_is_parked(stage: ClaudeStage) -> None:
    stage.scenario.add(
        Step(text=SAID),
        Step(match="Once more", error=Claude.limited, times=None),
        Step(to="side", match="JSON Schema", text=json.dumps(ANSWER), times=None),
    )
    stage.extra_env = {"CLAUDE_CODE_MAX_RETRIES": "1"}
    stage.up(keys='brief = { writer = "auto", daily = false, on_change = false }')
    stage.until_idle()
    projects = stage.home / ".claude" / "projects"
    eventually_sync(lambda: any(SAID in path.read_text() for path in projects.rglob("*.jsonl")), PATIENCE, "it is kept")
    sessions = set(projects.rglob("*.jsonl"))

    stage.stage.ctl("brief", "generate", NAME)

    told = shown(stage)
    (request,) = asked_to_write(stage)
    assert (told["writer"], told["writer_note"], told["tokens"] == told["tokens_today"] > 100) == ("cli", "", True)
    assert request.body.get("tools", []) == []
    assert SAID in request.whole_text
    loops = json.loads((stage.directory / "state.json").read_text())["open_loops"]
    assert [loop["text"] for loop in loops if "footer" in loop["text"]]
    assert f"written by the cli writer for {told['tokens']:,} tokens" in stage.stage.ctl("brief", "show", NAME).stdout
    assert set(projects.rglob("*.jsonl")) == sessions
    assert stage.row()["incarnation"] == 1
    assert "its brief is written by its own CLI (haiku)" in stage.stage.ctl("doctor", "--all").stdout

    stage.send("Once more.")
    eventually_sync(lambda: stage.row()["state"] == "parked", PATIENCE, "it met its limit")
    stage.stage.ctl("brief", "generate", NAME)

    told = shown(stage)
    assert (told["writer"], told["writer_note"]) == ("deterministic", "it is parked")
    assert len(asked_to_write(stage)) == 1
