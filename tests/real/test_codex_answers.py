"""`phoenixctl answer` on the real Codex: while nobody sits at its terminal, for it shows no dialog meanwhile (P9)."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.census import all_ends
from tests.e2e.inbox import Inbox
from tests.real.agent_stage import NAME, PATIENCE, AgentStage
from tests.real.codex_cli import CodexCli
from tests.real.installed import require
from tests.waiting import eventually_sync

pytestmark = [pytest.mark.real_claude, pytest.mark.proof]


@pytest.fixture
def stage(short_tmp: Path) -> Iterator[AgentStage]:
    cli = CodexCli(require("codex"))
    cli.asks = True
    with AgentStage(cli, short_tmp) as made:
        yield made
    all_ends(short_tmp)


def asked(inbox: Inbox, name: str, by: str) -> dict[str, Any]:
    def found() -> dict[str, Any] | None:
        items = inbox.items()
        return next((item for item in items if name in item["text"] and item["answer_by"] == by), None)

    item = eventually_sync(found, PATIENCE, f"{name} waits for an answer by {by}")
    assert item is not None
    return item


def test_promise_11_codex_is_answered_from_afar_and_by_whoever_sits_down(stage: AgentStage) -> None:
    cli, inbox = stage.cli, Inbox(stage.stage.runtime)
    assert isinstance(cli, CodexCli)
    stage.scenario.add(*(cli.shell(f"touch {name}.txt") for name in ("one", "two", "three")))
    stage.up(keys="hold_permissions = true")

    assert inbox.answer(asked(inbox, "one.txt", "answer")["id"], "allow") is True
    held = asked(inbox, "two.txt", "answer")
    stage.stage.kill()
    stage.stage.up()
    assert inbox.answer(held["id"], "deny", "Not before the release.") is True
    assert "Not before the release." in stage.asked("Not before the release").text

    held = asked(inbox, "three.txt", "answer")
    assert stage.harness.screen_says(stage.screen()) != "permission"
    ours, theirs = pty.openpty()
    tmux = ["tmux", "-N", "-S", str(stage.stage.runtime / "tmux.sock"), "attach", "-t", f"=phx-{NAME}"]
    sitting = subprocess.Popen(tmux, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    try:
        stage.wait_screen("permission")
        asked(inbox, "three.txt", "attach")
        assert inbox.answer(held["id"], "allow") is False
        stage.type("Enter")
        stage.until_idle()
    finally:
        sitting.terminate()
        sitting.wait(60)
        os.close(ours)
        os.close(theirs)
    assert inbox.items() == []
    assert sorted(path.name for path in stage.workspace.glob("*.txt")) == ["one.txt", "three.txt"]
