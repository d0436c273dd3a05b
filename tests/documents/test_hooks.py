"""Hook input as agents send it becomes one event; what is odd in it reads as absent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phoenixd.core.hooks import TurnFailed
from phoenixd.documents.cleaner import MARGIN
from phoenixd.documents.hooks import MAX_WORDS, hook_event, permission_answer
from phoenixd.documents.redact import REDACTED


def test_why_a_session_began_or_ended_is_its_source() -> None:
    assert hook_event("a", 1, "session-start", {"source": "resume"}).source == "resume"
    assert hook_event("a", 1, "session-end", {"reason": "prompt_input_exit"}).source == "prompt_input_exit"
    assert hook_event("a", 1, "session-end", {"reason": ["x"]}).source is None


def test_a_note_about_background_work_is_nobodys_prompt() -> None:
    note = {"prompt": "<task-notification>done</task-notification>", "source": "x"}
    assert hook_event("a", 1, "prompt-submit", note).source == "machine"


@pytest.mark.parametrize(
    ("kind", "payload", "jobs"),
    [
        ("stop", {"jobs": ["shell: make", 7]}, ("shell: make",)),
        ("stop", {"jobs": []}, ()),
        ("stop", {}, None),
        ("stop-failure", {}, None),
        ("tool-start", {"tool_name": "Bash", "tool_input": {"command": "make", "run_in_background": True}},
         ("shell: make",)),
        ("tool-start", {"tool_name": "Bash", "tool_input": {"command": "make", "run_in_background": False}}, None),
        ("tool-end", {"tool_name": "Agent", "tool_input": {"description": "look", "run_in_background": True}},
         ("subagent: look",)),
        ("tool-start", {"tool_name": "ScheduleWakeup", "tool_input": {"prompt": "Look.", "reason": "x"}},
         ("wake-up: Look.",)),
        ("tool-start", {"tool_name": "CronCreate", "tool_input": {"cron": "* * * * *", "prompt": "Look."}},
         ("schedule: * * * * * Look.",)),
        ("tool-start", {"tool_name": "Bash", "tool_input": {"command": "make"}, "jobs": ["shell: forged"]}, None),
    ],
)  # fmt: skip
def test_what_ends_with_the_process_is_read_from_a_turns_end_and_from_the_call_that_begins_it(
    kind: str, payload: dict[str, Any], jobs: tuple[str, ...] | None
) -> None:
    assert getattr(hook_event("a", 1, kind, payload), "jobs", None) == jobs


SCHEMA = "API Error: 400 tools.14.custom.input_schema: JSON schema is invalid."
REGAINS = (
    "API Error: 400 You have reached your specified API usage limits. "
    "You will regain access on 2026-12-01 at 00:00 UTC."
)


@pytest.mark.parametrize(
    ("word", "text", "failure"),
    [
        ("unknown", SCHEMA, "request"),
        ("unknown", "API Error: 413 prompt is too long: 208310 tokens > 200000 maximum", "full"),
        ("unknown", REGAINS, "overload"),
        ("unknown", "API Error: 429 slow down", "overload"),
        ("unknown", "API Error: 408 Request Timeout", "overload"),
        ("unknown", "API Error: 529 Overloaded", "overload"),
        ("unknown", "API Error: Connection dropped (ECONNRESET)", "overload"),
        ("unknown", f"The proxy said: {SCHEMA}", "overload"),
        ("unknown", "", "overload"),
        ("server_error", SCHEMA, "overload"),
    ],
)
def test_f_proc_26_a_failure_without_a_class_is_a_refused_request_where_the_cli_says_so_and_no_reset_is_named(
    word: str, text: str, failure: str
) -> None:
    event = hook_event("a", 1, "stop-failure", {"error": word, "last_assistant_message": text}, now=1.79e9)

    assert isinstance(event, TurnFailed)
    assert event.failure == failure


SECRET = "sk-ant-api03-" + "a1B2c3D4" * 12


@pytest.mark.parametrize("left", [0, 1, 8, 16, 40, 100, 4000])
@pytest.mark.parametrize("before", ["x", f"TOKEN={SECRET} and then "], ids=["words", "secrets"])
def test_p79_a_secret_that_lies_where_a_text_is_cut_is_taken_out_whole(before: str, left: int) -> None:
    """What half of it is left would look like no secret. left: characters of it before the cut."""
    for limit in (MAX_WORDS, MAX_WORDS + MARGIN, MAX_WORDS + 2 * MARGIN):
        lead = (before * limit)[: limit - left] if left < limit else ""
        event = hook_event("a", 1, "prompt-submit", {"prompt": f"{lead} {SECRET} {'and more ' * MAX_WORDS}"})
        text = getattr(event, "text", "")

        assert len(text) <= MAX_WORDS
        assert SECRET[:8] not in text.replace(REDACTED, "")


def test_a_long_text_without_a_secret_is_cut_and_else_as_it_was() -> None:
    for said in ("go on\n" * 5000, "go on\n" * 800):
        assert getattr(hook_event("a", 1, "prompt-submit", {"prompt": said}), "text", "") == said[:MAX_WORDS]


def test_x8b_the_directory_that_an_agent_is_in_is_told() -> None:
    assert hook_event("a", 1, "tool-start", {"cwd": "/srv/side"}).cwd == "/srv/side"
    assert hook_event("a", 1, "tool-start", {"cwd": 7}).cwd is None


def test_p15_a_command_that_looks_like_an_input_is_kept_as_json() -> None:
    """Shown as its tool's form it would otherwise be another command than the one that runs."""
    for command in ('{"command": "ls"}', "{ rm -rf ~; }"):
        asked = json.dumps({"tool": "Bash", "input": {"command": command}})
        event = hook_event("a", 1, "permission-request", {"tool_name": "Bash", "held": True, "asked": asked})
        assert (event.held, event.text) == (True, json.dumps({"command": command}))


def test_p14_answers_go_to_the_model_as_the_tools_input() -> None:
    given = {"questions": [{"question": "Which?"}], "answers": {"Which?": "größer"}}

    said = permission_answer(True, "", json.dumps(given))

    told = {"behavior": "allow", "updatedInput": given}
    assert said == {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": told}}
    assert "updatedInput" not in str(permission_answer(False, "no", json.dumps(given)))


@pytest.mark.parametrize("tool", ["mcp__host__run", "", "Bash"])
def test_p15_nothing_that_a_call_is_given_is_left_out_of_what_is_shown(tool: str) -> None:
    """Claude Code's Bash runs nothing but its command; what another tool does with its fields nobody knows."""
    given = {"command": "ls", "description": "and then rm -rf /"}
    payload = {"tool_name": tool, "held": True, "asked": json.dumps({"tool": tool, "input": given})}
    text = hook_event("a", 1, "permission-request", payload).text
    assert text == ("ls" if tool == "Bash" else json.dumps(given))


@pytest.mark.parametrize(
    ("named", "known"),
    [("01J-abc_9.x", "01J-abc_9.x"), ("x" * 256, "x" * 256), ("x" * 257, None), ("a\nb", None), ("a\u202eb", None)],
)
def test_a_session_is_known_by_what_a_cli_would_call_one(named: str, known: str | None) -> None:
    assert hook_event("a", 1, "session-start", {"session_id": named}).session_id == known
