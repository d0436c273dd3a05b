"""The open loops that a session of the real Claude Code leaves: told to the next one, and closed by proof alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phoenixd.harness.pins import PINS
from tests.e2e.census import all_ends
from tests.real.agent_stage import PATIENCE
from tests.real.claude_room import bash
from tests.real.claude_stage import NAME, ClaudeStage
from tests.real.installed import require
from tests.stub.recorded import RecordedRequest
from tests.stub.scenario import Step, ToolUse
from tests.waiting import eventually_sync

pytestmark = [pytest.mark.real_claude, pytest.mark.proof]

STEPS = ("Read the till's journal", "Round half cents to even", "Print the footer twice")
ASKED = {
    "question": "Which printer takes the receipts?",
    "header": "Printer",
    "options": [
        {"label": "Front desk", "description": "the small one"},
        {"label": "Back office", "description": "the large one"},
    ],
    "multiSelect": False,
}


@pytest.fixture(params=PINS["claude"])
def stage(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[ClaudeStage]:
    with ClaudeStage(require("claude", request.param), short_tmp) as made:
        # 2.1.330 offers its newer models no task list unless it is told to.
        made.extra_env = {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"}
        # In its default mode a server of its maker's judges each command; in the manual one it offers that mode.
        made.settings = {"permissions": {"allow": ["Bash(*)"], "defaultMode": "default"}}
        yield made
    all_ends(short_tmp)


def create(text: str) -> ToolUse:
    return ToolUse("TaskCreate", {"subject": text, "description": f"{text}, all of it", "activeForm": text})


def complete(task: int) -> ToolUse:
    return ToolUse("TaskUpdate", {"taskId": str(task), "status": "completed"})


def loops(stage: ClaudeStage) -> dict[str, str]:
    """What state.json lists: each text with its kind."""
    path = stage.directory / "state.json"
    found: list[dict[str, Any]] = json.loads(path.read_text()).get("open_loops", []) if path.exists() else []
    return {loop["text"]: loop.get("kind", "") for loop in found}


def closed(stage: ClaudeStage) -> list[str]:
    """Why tasks and checks were closed; a brief in the middle of a turn lists its request too, until it ends."""
    found: list[dict[str, Any]] = stage.document("state.json")["resolved"]
    return sorted(item["reason"] for item in found if item["kind"] in ("tasks", "check"))


def begun_anew(stage: ClaudeStage, request: RecordedRequest) -> str:
    """All that the next session is asked first, after kill -9 in the turn of that request; its transcript is gone."""
    assert request.session_id is not None
    session = request.session_id
    stage.kill_agent(lambda: stage.transcript(session).unlink(missing_ok=True))
    anew = stage.asked(after=request.number)
    while anew.session_id == request.session_id:  # What the old one had sent before it died may arrive late.
        anew = stage.asked(after=anew.number)
    return anew.whole_text


def test_of_three_tasks_the_two_that_are_not_done_are_told_to_the_next_session(stage: ClaudeStage) -> None:
    stage.scenario.add(
        Step(text="Three steps.", tool_use=tuple(map(create, STEPS))),
        Step(tool_use=(complete(1),)),
        Step(fault="hang"),
    )
    stage.up()
    first = stage.asked()
    request = stage.asked(after=stage.asked(after=first.number).number)

    told = begun_anew(stage, request)

    done, *left = STEPS
    page = told.partition("## Open loops")[2].partition("## ")[0]
    assert all(f'"{text}" (tasks, ' in page for text in left), page
    assert done not in page
    assert loops(stage) == dict.fromkeys(left, "tasks")


def test_a_question_that_was_open_is_told_to_the_next_session(stage: ClaudeStage) -> None:
    stage.scenario.add(Step(text="I ask.", tool_use=(ToolUse("AskUserQuestion", {"questions": [ASKED]}),)))
    stage.up()
    request = stage.asked()
    eventually_sync(lambda: [item["kind"] for item in stage.inbox()] == ["question"], PATIENCE, "the question is open")

    told = begun_anew(stage, request)

    page = told.partition("## Open loops")[2].partition("## ")[0]
    assert f'Asked, not answered: "{ASKED["question"]} (Front desk / Back office)"' in page, page
    assert f"you had asked a person: {ASKED['question']} Nobody has answered yet" in told


def test_done_closes_a_loop_where_it_is_proven_and_not_where_it_is_said(
    stage: ClaudeStage, request: pytest.FixtureRequest
) -> None:
    checks = stage.workspace / "pytest"
    checks.write_text("#!/bin/sh\ntest -e fixed\n")
    checks.chmod(0o755)
    stage.scenario.add(
        Step(tool_use=tuple(map(create, STEPS[:1]))),
        bash("./pytest"),
        Step(text=f"Done: {STEPS[0]}. All tests pass, ./pytest is fixed."),
    )
    stage.up(keys='brief = { spacing = "10s" }')
    both = {STEPS[0]: "tasks", "`./pytest` failed with exit code 1": "check"}
    eventually_sync(lambda: loops(stage) == both, PATIENCE, f"both are open, and not {loops(stage)}")
    if request.node.callspec.params["stage"] != PINS["claude"][0]:
        stage.until("it offers its auto mode", lambda row: row["activity"] == "waiting")
        stage.type("Escape")
    stage.until_idle()

    stage.scenario.add(
        Step(match="Prove it", tool_use=(complete(1),)), bash("touch fixed && ./pytest"), Step(text="Done.")
    )
    assert stage.send("Prove it.").returncode == 0

    eventually_sync(lambda: loops(stage) == {}, PATIENCE, "both are closed")
    assert closed(stage) == ["a newer run passed: pytest", "the task list says that it is done"]
    assert "None on record." in stage.stage.ask("brief", "show", NAME)
