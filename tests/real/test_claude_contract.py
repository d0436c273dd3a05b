"""What phoenixd relies on in the real Claude Code, trap by trap. API and hook endpoint are stubs on loopback.

A release does not change: what it does by itself comes out otherwise once a pin is raised, and never before. So the
gate has what hangs on settings and paths of ours, and `./dev proof claude` has each `fact` too.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from phoenixd.documents.hooks import MACHINE_PROMPT
from phoenixd.documents.transcript import TurnEnded
from phoenixd.harness.claude import launch as claude
from phoenixd.harness.claude import transcript
from phoenixd.harness.claude.screens import input_line, screen_says
from tests.real.claude_cli import require_claude
from tests.real.claude_room import BRIEF, Room, bash
from tests.stub.hooks import HookCall
from tests.stub.scenario import Rejection, Step, ToolUse
from tests.waiting import eventually_sync

pytestmark = pytest.mark.real_claude
fact = pytest.mark.proof
"""Of the CLI alone, or read off its screen: screens that were recorded are judged in tests/harness."""


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with Room(require_claude(), tmp_path) as made:
        yield made


def is_user(record: dict[str, Any]) -> bool:
    return record.get("type") == "user"


def is_interruption(record: dict[str, Any]) -> bool:
    told = transcript.record(json.dumps(record).encode())
    return told is not None and TurnEnded("interrupted", told.at) in told.facts


@fact
def test_p35_session_start_runs_the_program_and_the_model_reads_the_brief(room: Room) -> None:
    room.fresh("Go.")

    request = room.stub.wait_for_main(text="Go")

    assert [(start["source"], start["session_id"]) for start in room.starts()] == [("startup", room.session_id)]
    assert BRIEF in request.whole_text


@fact
def test_a_hook_endpoint_that_hangs_does_not_stop_the_turn(room: Room) -> None:
    over = Event()
    room.answer_hooks(lambda call: {"waited": over.wait(60)} if call.event == "UserPromptSubmit" else {})
    room.fresh("Go.")

    room.hooks.wait_for("Stop")
    over.set()


@fact
def test_p34_killed_in_mid_turn_it_goes_on_with_the_same_session(room: Room) -> None:
    room.scenario.add(Step(text="half", fault="hang_mid_stream"))
    program = room.fresh("Work hard.")
    room.wait_record(is_user)
    program.kill()
    assert program.wait_exit() == 137
    assert "SessionEnd" not in room.hooks.events()

    room.resume("You were cut off: continue.")
    request = room.stub.wait_for_main(text="You were cut off")

    assert "Work hard." in request.whole_text
    assert [start["source"] for start in room.starts()] == ["startup", "resume"]
    assert {start["session_id"] for start in room.starts()} == {room.session_id}


@fact
def test_p34_what_a_resume_writes_in_place_of_an_answer_is_none(room: Room) -> None:
    """A prompt without an answer gets one of the CLI's own, in the model's place."""
    room.scenario.add(Step(fault="hang"), Step(fault="hang"))
    program = room.fresh("Translate the footer.")
    room.wait_record(is_user)
    program.kill()
    program.wait_exit()

    room.resume("You were cut off: continue.")

    filled = room.wait_record(lambda record: record.get("type") == "assistant")
    line = json.dumps(filled).encode()
    told = transcript.record(line)
    assert filled["message"]["model"] == transcript.SYNTHETIC
    assert told is not None
    assert (told.kind, transcript.said(line)) == (None, None)


@pytest.mark.parametrize(
    "content",
    [
        None,
        pytest.param(b"", marks=fact),
        pytest.param(b"\xff\xfe garbage\n" * 50, marks=fact),
        b'{"type":"mode"}\n',
    ],
)
def test_f_res_1_a_resume_without_a_conversation_is_refused(room: Room, content: bytes | None) -> None:
    if content is not None:
        room.transcript().parent.mkdir(parents=True)
        room.transcript().write_bytes(content)
        assert not claude.transcript_is_resumable(content, content, len(content))

    program = room.resume("Continue.")

    code = program.wait_exit()
    assert "No conversation found" in program.screen()
    assert (code, room.starts()) == (1, [])
    assert "UserPromptSubmit" not in room.hooks.events()


@pytest.mark.parametrize("damage", ["cut", pytest.param("nul", marks=fact), pytest.param("garbage first", marks=fact)])
def test_f_res_7_a_damaged_transcript_that_holds_a_message_is_resumed(room: Room, damage: str) -> None:
    first = room.fresh("Go.")
    room.hooks.wait_for("Stop")
    room.wait_record(lambda record: record.get("type") == "assistant")
    first.kill()
    first.wait_exit()
    whole = room.transcript().read_bytes()
    content = {"cut": whole[:-20], "nul": whole + b"\0" * 4096, "garbage first": b"xx\n" + whole}[damage]
    room.transcript().write_bytes(content)
    assert claude.transcript_is_resumable(content, content, len(content))

    room.resume("Continue.")

    room.stub.wait_for_main(text="Continue")


@fact
def test_f_res_8_a_resume_from_another_directory_is_refused(room: Room) -> None:
    first = room.fresh("Go.")
    room.wait_record(is_user)
    first.kill()
    first.wait_exit()
    elsewhere = room.workspace / "sub"
    elsewhere.mkdir()

    program = room.resume("Continue.", cwd=elsewhere)

    assert program.wait_exit() == 1
    assert "No conversation found" in program.screen()


@fact
def test_a_session_id_in_use_is_refused_without_a_hook(room: Room) -> None:
    first = room.fresh("Go.")
    room.wait_record(is_user)
    first.kill()
    first.wait_exit()
    before = len(room.hooks.calls)

    program = room.fresh("Go again.")

    assert program.wait_exit() == 1
    assert "already in use" in program.screen()
    assert room.hooks.events()[before:] == []


@fact
def test_f_res_2_a_resume_with_a_wrong_id_opens_a_picker(room: Room) -> None:
    room.session_id = "notauuid"
    program = room.resume(None)

    assert screen_says(program.wait_screen("Resume session")) == "resume-picker"


@fact
def test_f_res_5_clear_changes_the_session_id(room: Room) -> None:
    program = room.fresh("Go.")
    room.hooks.wait_for("Stop")
    program.wait_screen("for shortcuts")

    program.type("/clear", "Enter")
    ended = room.hooks.wait_for("SessionEnd")
    starts = eventually_sync(lambda: room.starts()[1:], what="SessionStart after /clear")

    assert (ended.payload["reason"], ended.payload["session_id"]) == ("clear", room.session_id)
    assert starts[0]["source"] == "clear"
    assert starts[0]["session_id"] != room.session_id


@fact
def test_a_person_leaves_with_exit(room: Room) -> None:
    program = room.fresh("Go.")
    room.hooks.wait_for("Stop")
    program.wait_screen("for shortcuts")
    program.type("/exit", "Enter")

    assert program.wait_exit() == 0
    assert room.hooks.wait_for("SessionEnd").payload["reason"] == "prompt_input_exit"


@fact
def test_terminated_it_says_so(room: Room) -> None:
    room.scenario.add(Step(fault="hang"))
    program = room.fresh("Go.")
    room.stub.wait_for_main()
    program.kill(signal.SIGTERM)

    assert program.wait_exit() == 143
    assert room.hooks.wait_for("SessionEnd").payload["reason"] == "other"


@fact
def test_a_held_permission_request_is_answered_without_a_keystroke(room: Room) -> None:
    allowed = Event()

    def answer(call: HookCall) -> dict[str, Any]:
        if call.event != "PermissionRequest":
            return {}
        allowed.wait(60)
        return {"hookSpecificOutput": {"hookEventName": call.event, "decision": {"behavior": "allow"}}}

    room.extra_settings = {}
    room.answer_hooks(answer)
    room.scenario.add(bash("touch made.txt"))
    program = room.fresh("Go.")
    asked = room.hooks.wait_for("PermissionRequest")
    assert asked.payload["tool_input"]["command"] == "touch made.txt"
    assert screen_says(program.wait_screen("Do you want")) == "permission"

    allowed.set()
    room.hooks.wait_for("Stop")

    assert (room.workspace / "made.txt").exists()


@fact
def test_a_denied_tool_ends_without_a_hook_of_its_own(room: Room) -> None:
    denial = {"behavior": "deny", "message": "Not on a Sunday."}
    room.extra_settings = {}
    room.answer_hooks(
        lambda call: (
            {"hookSpecificOutput": {"hookEventName": call.event, "decision": denial}}
            if call.event == "PermissionRequest"
            else {}
        )
    )
    room.scenario.add(bash("touch made.txt"))
    room.fresh("Go.")

    room.stub.wait_for_main(text="Not on a Sunday")
    room.hooks.wait_for("Stop")

    assert room.hooks.events() == ["UserPromptSubmit", "PreToolUse", "PermissionRequest", "Stop"]


@fact
def test_an_interrupted_turn_ends_without_any_hook(room: Room) -> None:
    room.scenario.add(Step(text="Half of it\nis done", fault="hang_mid_stream"))
    program = room.fresh("Go.")
    program.wait_screen("Half of it")
    assert screen_says(program.screen()) == "working"
    program.type("Escape")

    room.wait_record(is_interruption)
    shown = program.wait_screen(r"Interrupted.*for shortcuts")

    assert screen_says(shown) == "idle"
    assert room.hooks.events() == ["UserPromptSubmit"]


@fact
def test_a_prompt_taken_back_before_the_first_word_leaves_no_trace_but_the_screen(room: Room) -> None:
    room.scenario.add(Step(fault="hang"))
    program = room.fresh("Go on then.")
    room.stub.wait_for_main()
    program.wait_screen("esc to interrupt")
    room.wait_record(is_user)
    program.type("Escape")

    shown = eventually_sync(lambda: program.screen() if input_line(program.screen()) else "", what="a draft")

    assert (screen_says(shown), input_line(shown)) == ("idle", "Go on then.")
    assert room.hooks.events() == ["UserPromptSubmit"]


@fact
def test_an_overload_ends_the_turn_and_not_the_process(room: Room) -> None:
    room.scenario.add(Step(error=Rejection(529, "overloaded_error", "Overloaded"), times=None))
    program = room.fresh("Go.")

    assert room.hooks.wait_for("StopFailure").payload["error"] == "server_error"
    assert screen_says(program.wait_screen("API Error.*for shortcuts")) == "idle"


@fact
def test_g37_a_declared_timeout_is_shown_and_obeyed(room: Room) -> None:
    room.scenario.add(bash("sleep 600", timeout=1500))
    room.fresh("Go.")

    assert room.hooks.wait_for("PreToolUse").payload["tool_input"]["timeout"] == 1500
    assert "timed out" in room.hooks.wait_for("PostToolUseFailure").payload["error"]


@fact
def test_a_background_agent_reports_after_the_turn_and_submits_a_prompt_of_its_own(room: Room) -> None:
    task = {"description": "s", "prompt": "SUB", "subagent_type": "general-purpose", "run_in_background": True}
    room.scenario.add(
        Step(tool_use=(ToolUse("Agent", task),)),
        Step(to="subagent", hold="subagent", tool_use=(ToolUse("Bash", {"command": "true", "description": "x"}),)),
    )
    room.fresh("Go.")
    stopped = room.hooks.wait_for("Stop")
    assert [t["type"] for t in stopped.payload["background_tasks"]] == ["subagent"]
    assert "agent_id" not in stopped.payload

    room.stub.open_gate("subagent")
    tool = room.hooks.wait_for("PreToolUse", after=stopped.number)
    note = room.hooks.wait_for("UserPromptSubmit", after=stopped.number)

    assert tool.payload["agent_id"]
    assert note.payload["prompt"].startswith(MACHINE_PROMPT)


@fact
def test_an_unseeded_home_asks_for_trust_and_key(room: Room) -> None:
    seed = room.home / ".claude.json"
    seed.write_text(json.dumps({"hasCompletedOnboarding": True}))
    program = room.fresh("Go.")

    assert screen_says(program.wait_screen("trust this folder")) == "trust"
    program.type("Enter")
    assert screen_says(program.wait_screen("API key")) == "api-key"
    assert room.starts() == []


@fact
def test_an_unknown_hook_blocks_the_start(room: Room) -> None:
    room.extra_settings = {"hooks": {"Bogus": [{"hooks": [{"type": "command", "command": "true"}]}]}}
    program = room.fresh("Go.")

    assert screen_says(program.wait_screen("Settings Warning")) == "settings"


@fact
def test_of_two_settings_the_last_one_wins(room: Room) -> None:
    room.fresh("Go.", "--settings", json.dumps({"disableAllHooks": True}))

    room.hooks.wait_for("Stop")


@pytest.mark.parametrize("name", [pytest.param("a.b_c", marks=fact), pytest.param("über größe", marks=fact), "x" * 210])
def test_the_transcript_is_where_it_is_looked_for(room: Room, name: str) -> None:
    room.workspace = room.workspace / name
    room.workspace.mkdir()
    room.fresh("Go.")

    told = room.hooks.wait_for("UserPromptSubmit").payload["transcript_path"]

    assert Path(told) == room.transcript()
    room.wait_record(is_user)
