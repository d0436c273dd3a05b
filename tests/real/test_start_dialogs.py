"""The dialogs of a real CLI's start, which no hook tells of: an item within seconds, and not an idle agent."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.census import all_ends
from tests.real.agent_stage import NAME, AgentStage
from tests.real.clis import CONTRACTED, contracted
from tests.real.installed import require

pytestmark = pytest.mark.real_claude

NEEDS_PERSON = 6


@pytest.fixture(params=contracted("claude", "codex"))
def stage(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[AgentStage]:
    with AgentStage(CONTRACTED[request.param](require(request.param)), short_tmp) as made:
        yield made
    all_ends(short_tmp)


def test_f_proc_16_an_agent_at_its_trust_dialog_needs_a_person_and_is_not_idle(stage: AgentStage) -> None:
    if stage.cli.harness == "codex":
        # In a directory that is no repository it does not ask.
        subprocess.run(["git", "init", "--quiet", str(stage.workspace)], check=True)
    if stage.cli.harness == "claude":
        (stage.home / ".claude.json").write_text('{"hasCompletedOnboarding": true}')
    stage.up(prompt=None, trusted=False)

    waited = stage.stage.ctl("wait", NAME, "--for", "idle", "--timeout", "60s")

    assert waited.returncode == NEEDS_PERSON, waited.stdout + waited.stderr
    assert [(item["kind"], item["text"]) for item in stage.inbox()] == [("dialog", "trust dialog")]
    row = stage.row()
    assert (row["activity"], row["group"]) == ("waiting", "needs_you")
    # A look at a screen that is drawn anew just then shows no dialog, and the text is refused where it would be typed.
    stage.stage.until("a text is refused", lambda: stage.send("Go on.").returncode == NEEDS_PERSON)
    assert stage.stub.main_requests() == []
