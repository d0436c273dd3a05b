"""What hangs on settings and paths of ours in a start of the real Claude Code: one start for all these tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.harness.claude import launch as claude
from tests.real.claude_cli import DUMMY_KEY, require_claude
from tests.real.claude_room import TOKEN, Room, bash

pytestmark = pytest.mark.real_claude

PROMPT = "--resume what you did"


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    """A turn is over, in a home whose user once refused the key, and a directory that is no plain word."""
    with Room(require_claude(), tmp_path_factory.mktemp("room")) as room:
        room.workspace = room.workspace / "emoji😀z"
        room.workspace.mkdir()
        tail = claude.api_key_tail(DUMMY_KEY)
        refused = {"customApiKeyResponses": {"approved": [], "rejected": [tail]}}
        seed = claude.trust_seed(refused, str(room.workspace), tail)
        (room.home / ".claude.json").write_text(json.dumps(seed))
        room.scenario.add(bash("echo $BASH_DEFAULT_TIMEOUT_MS > timeout.txt"), bash("true"))
        program = room.fresh(PROMPT, "--add-dir", "/tmp")
        room.hooks.wait_for("Stop")
        assert program.alive
        yield room


def test_an_unattended_start_works_without_a_dialog_also_after_a_refused_key(begun: Room) -> None:
    assert (begun.workspace / "timeout.txt").read_text() == "1800000\n"
    tool = ["PreToolUse", "PostToolUse"]
    assert begun.hooks.events() == ["UserPromptSubmit", *tool, *tool, "Stop"]
    assert {call.payload["session_id"] for call in begun.hooks.calls} == {begun.session_id}


def test_hooks_come_over_one_connection_with_the_literal_token(begun: Room) -> None:
    assert {call.headers["authorization"] for call in begun.hooks.calls} == {f"Bearer {TOKEN}"}
    assert len({call.connection for call in begun.hooks.calls}) == 1


def test_a_prompt_may_begin_with_a_dash(begun: Room) -> None:
    assert begun.hooks.wait_for("UserPromptSubmit").payload["prompt"] == PROMPT


def test_the_transcript_is_where_it_is_looked_for_also_below_a_name_that_is_no_word(begun: Room) -> None:
    told = begun.hooks.wait_for("UserPromptSubmit").payload["transcript_path"]

    assert Path(told) == begun.transcript()
    begun.wait_record(lambda record: record.get("type") == "user")
