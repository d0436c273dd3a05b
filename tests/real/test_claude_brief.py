"""What the real Claude Code knows, which never heard of phoenixd: its state, its brief, and its next session."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phoenixd.documents.times import read_time
from tests import quick_start
from tests.e2e.census import all_ends
from tests.eval_brief.__main__ import measure
from tests.eval_brief.sessions import SESSIONS
from tests.eval_brief.writers import honest
from tests.real.agent_stage import PATIENCE
from tests.real.claude_cli import environment, require_claude
from tests.real.claude_room import bash
from tests.real.claude_stage import GOAL, NAME, ClaudeStage
from tests.stub.messages import MessagesStub
from tests.stub.recorded import RecordedRequest
from tests.stub.scenario import Step
from tests.waiting import eventually_sync

pytestmark = pytest.mark.real_claude

RECEIPTS, TESTS, TILL = "Now the receipts, please.", "Look at the slow tests.", "Close the till as well."
LOOP, LATER_LOOP = "the till rounds half a cent the wrong way", "receipts of two pages lose their footer"


@pytest.fixture
def stage(short_tmp: Path) -> Iterator[ClaudeStage]:
    with ClaudeStage(require_claude(), short_tmp) as made:
        yield made
    all_ends(short_tmp)


def known(stage: ClaudeStage) -> dict[str, Any]:
    """What state.json holds; nothing before it is there."""
    path = stage.directory / "state.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def hooks(stage: ClaudeStage) -> list[str]:
    return [event["detail"].get("kind", "") for event in stage.events() if event["event"] == "hook_seen"]


def until_known(stage: ClaudeStage, task: str, since: int) -> None:
    """Wait until state.json tells of this task, and of a sign of life since then."""

    def told() -> bool:
        state = known(stage)
        return state.get("current_task") == task and since <= (read_time(state.get("last_active")) or 0) <= int(
            time.time()
        )

    eventually_sync(told, PATIENCE, f"state.json tells of {task!r} since {since}")


def test_p18_p24_p45_what_it_was_doing_outlives_clear_compaction_kill_9_and_the_transcript(stage: ClaudeStage) -> None:
    # The agent works as it would without phoenixd: a tool, a few words, and nothing that is meant for a brief.
    checks = stage.workspace / "pytest"
    checks.write_text("#!/bin/sh\necho '===== 5 failed, 47 passed in 12.31s ====='\nexit 1\n")
    checks.chmod(0o755)
    stage.scenario.add(
        bash("./pytest -q"),
        Step(text=f"The page of the till is done. {LOOP}."),
        Step(match="receipts", text=f"212 of 215 pass now. {LATER_LOOP}."),
        Step(match="Close the till", fault="hang"),
    )
    began = int(time.time())
    stage.up()
    until_known(stage, GOAL, began)
    first = stage.until_idle()["session_id"]
    eventually_sync(lambda: known(stage)["open_loops"], PATIENCE, "the first turn's end brings its loop")
    assert [loop["kind"] for loop in known(stage)["open_loops"]] == ["check"]
    assert sorted(known(stage)["numbers"].values()) == ["47", "5"]
    assert LOOP in (stage.directory / "brief.md").read_text()

    assert stage.send("/clear").returncode == 0
    second = stage.until("the session changes", lambda row: row["session_id"] != first)["session_id"]
    asked = int(time.time())
    assert stage.send(RECEIPTS).returncode == 0
    until_known(stage, RECEIPTS, asked)
    stage.until_idle()
    assert stage.send(TESTS).returncode == 0
    stage.until_idle()
    assert stage.send("/compact").returncode == 0
    eventually_sync(lambda: "compacted" in hooks(stage), PATIENCE, "the session is compacted")
    assert known(stage)["current_task"] == TESTS
    asked = int(time.time())
    assert stage.send(TILL).returncode == 0
    until_known(stage, TILL, asked)
    request = stage.asked("Close the till")
    assert stage.stage.ctl("brief", "generate", NAME).returncode == 0

    brief = (stage.directory / "brief.md").read_text()
    assert LATER_LOOP in brief
    told = subprocess.run(
        ["bash", "-c", quick_start.START_HOOK], cwd=stage.directory, capture_output=True, text=True, check=True
    )
    assert told.stdout == f"RECOVERY DETECTED - Last task: {TILL}\nOpen loops: {len(known(stage)['open_loops'])}\n"

    def forget() -> None:
        for session in (first, second):
            stage.transcript(session).unlink()

    stage.kill_agent(forget)
    anew = stage.asked(after=request.number)

    assert anew.session_id not in (first, second)
    for words in ("./pytest -q", LATER_LOOP, TILL):
        assert words in anew.whole_text


async def test_p24_claude_itself_writes_briefs_as_a_command(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with `writer = "command"` and `command = ["claude", "-p"]`; what it answers is the stub's."""
    command = (str(require_claude()), "-p")
    said = {session.said[0].text: session for session in SESSIONS[:2]}

    def answer(request: RecordedRequest) -> Step | None:
        asked = next((session for words, session in said.items() if words in request.whole_text), None)
        return Step(text=json.dumps(honest(asked))) if asked is not None and request.kind == "main" else None

    with MessagesStub(responder=answer) as stub:
        for name in set(os.environ) - {"PATH"}:
            monkeypatch.delenv(name)
        for name, value in environment(short_tmp, stub.base_url).items():
            monkeypatch.setenv(name, value)
        result = await measure("claude -p", command=command, sessions=said.values())

    assert (result.failed, result.refused, result.missed) == (0, 0, ())
    assert result.loops == result.loops_wanted > 3
