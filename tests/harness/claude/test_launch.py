"""Claude Code's command line, settings, transcripts and seed, as the real CLI was measured to take them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.clis import HTTP_EVENTS
from phoenixd.core.spec import AgentSpec
from phoenixd.harness import HARNESSES
from phoenixd.harness.claude import launch as claude
from phoenixd.harness.shape import PermissionTold

SESSION = "11111111-1111-4111-8111-111111111111"
USER = b'{"type":"user","message":{"role":"user","content":"go"}}\n'
META = b'{"type":"mode","mode":"normal"}\n'


def test_a_fresh_start_chooses_the_session_and_hands_the_prompt_over() -> None:
    assert claude.fresh_argv(["claude", "--model", "opus"], SESSION, "do it", "/s.json") == [
        "claude", "--model", "opus", "--settings", "/s.json", "--session-id", SESSION, "--", "do it",
    ]  # fmt: skip


def test_a_resume_goes_on_with_the_session() -> None:
    assert claude.resume_argv(["claude"], SESSION, "go on", "/s.json")[-4:] == ["--resume", SESSION, "--", "go on"]


def test_without_a_prompt_none_is_submitted() -> None:
    assert claude.resume_argv(["claude"], SESSION, None, "/s.json")[-2:] == ["--resume", SESSION]
    assert claude.fresh_argv(["claude"], SESSION, None, "/s.json")[-2:] == ["--session-id", SESSION]


@given(st.lists(st.text(min_size=1), min_size=1), st.text(st.characters(exclude_characters="\0", codec="utf-8")))
def test_f_res_6_the_base_is_kept_and_flags_never_pile_up(base: list[str], prompt: str) -> None:
    line = claude.resume_argv(base, SESSION, prompt, "/s.json")

    assert line[: len(base)] == base
    assert line[len(base) :] == ["--settings", "/s.json", "--resume", SESSION, "--", prompt]


@pytest.mark.parametrize("prompt", ["nul\0byte", "x" * 131_072, "ü" * 65_536])
def test_a_prompt_that_no_program_can_take_is_refused(prompt: str) -> None:
    with pytest.raises(ValueError, match="one argument"):
        claude.fresh_argv(["claude"], SESSION, prompt, "/s.json")


@pytest.mark.parametrize(
    "argument",
    ["--session-id", f"--session-id={SESSION}", "--resume", f"-r{SESSION}", "-r", "--continue", "-c", "-pc", "-pvr",
     "--fork-session", "--from-pr=12", "--settings", "--settings={}", "--bare", "--safe-mode", "--bg", "--background",
     "-w", "--worktree=x", "--tmux=classic", "--no-session-persistence", "--"],
)  # fmt: skip
def test_flags_that_phoenixd_owns_are_refused(argument: str) -> None:
    assert [problem.split(": ")[0] for problem in claude.check_argv(["claude", argument])] == [argument]


@pytest.mark.parametrize(
    "argument",
    ["--model", "-p", "-n", "-d", "--permission-mode=plan", "--chrome", "-c is what I like", "--remote-control"],
)
def test_other_flags_are_the_operators_own(argument: str) -> None:
    assert claude.check_argv(["claude", argument]) == []


def test_an_empty_base_is_refused() -> None:
    assert claude.check_argv([])


def made_settings(**more: Any) -> dict[str, Any]:
    made = claude.settings("http://127.0.0.1:4711/hook", "t0ken", "/lib/phoenix-hook", {}, **more)
    assert json.loads(json.dumps(made)) == made
    return made


def test_g24_x10_every_hook_is_registered_with_an_empty_matcher() -> None:
    hooks = made_settings()["hooks"]

    assert set(hooks) == {"SessionStart", *HTTP_EVENTS}
    assert {(entry["matcher"], len(entry["hooks"])) for entries in hooks.values() for entry in entries} == {("", 1)}


def test_hooks_are_posted_with_the_runs_own_token() -> None:
    posted = made_settings()["hooks"]["PostToolUse"][0]["hooks"][0]

    assert posted["url"] == "http://127.0.0.1:4711/hook"
    assert posted["headers"] == {"Authorization": "Bearer t0ken"}
    assert (posted["type"], posted["timeout"]) == ("http", 5)


def test_session_start_runs_the_program_without_a_shell() -> None:
    start = made_settings()["hooks"]["SessionStart"][0]["hooks"][0]

    assert start == {"type": "command", "command": "/lib/phoenix-hook", "args": ["session-start"], "timeout": 5}


def test_a_held_permission_request_outlives_the_other_hooks_timeout() -> None:
    assert made_settings()["hooks"]["PermissionRequest"][0]["hooks"][0]["timeout"] >= 3600


def test_g25_g26_bash_timeouts_are_in_the_settings_and_the_operator_may_change_them() -> None:
    assert made_settings()["env"] == {"BASH_DEFAULT_TIMEOUT_MS": "1800000", "BASH_MAX_TIMEOUT_MS": "7200000"}

    changed = claude.settings("u", "t", "p", {"BASH_MAX_TIMEOUT_MS": "1", "DISABLE_AUTO_COMPACT": "1"})["env"]
    assert changed["BASH_MAX_TIMEOUT_MS"] == "1"
    assert changed["DISABLE_AUTO_COMPACT"] == "1"


def test_e47_a_successor_alone_may_run_one_command_unasked() -> None:
    harness = HARNESSES["claude"]
    first, later = (harness.settings(spec(seat="a", generation=number), "u", "t", "p") for number in (1, 2))
    assert first is not None
    assert later is not None
    assert "permissions" not in first
    assert later["permissions"] == {"allow": ["Bash(phoenixctl handoff ack:*)"]}


def spec(**changes: Any) -> AgentSpec:
    return AgentSpec("a", ("claude",), "/srv/shop", harness="claude", **changes)


def test_g25_the_operators_own_limit_holds_and_is_what_a_working_call_may_take() -> None:
    shop = spec(env=(("BASH_DEFAULT_TIMEOUT_MS", "3600000"), ("SHOP_KEY", "x")))
    harness = HARNESSES["claude"]
    made = harness.settings(shop, "u", "t", "p") or {}

    assert made["env"] == {"BASH_DEFAULT_TIMEOUT_MS": "3600000", "BASH_MAX_TIMEOUT_MS": "7200000"}
    assert harness.call_limit(shop, "Bash") == 3600
    assert harness.call_limit(spec(), "Bash") == 1800
    assert harness.call_limit(spec(env=(("BASH_DEFAULT_TIMEOUT_MS", "long"),)), "Bash") == 1800
    assert harness.call_limit(shop, "mcp__ci__wait") is None


@pytest.mark.parametrize(
    ("task", "own", "told"),
    [("t1", (), "1"), ("", (), None), ("t1", (("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "0"),), "0")],
)
def test_e57_a_worker_is_not_told_what_others_kept_for_themselves_unless_its_operator_says_so(
    task: str, own: tuple[tuple[str, str], ...], told: str | None
) -> None:
    made = HARNESSES["claude"].settings(spec(task=task, env=own), "u", "t", "p") or {}

    assert made["env"].get("CLAUDE_CODE_DISABLE_AUTO_MEMORY") == told


def test_the_bypass_warning_is_answered_only_on_request() -> None:
    assert "skipDangerousModePermissionPrompt" not in made_settings()
    assert made_settings(skip_bypass_warning=True)["skipDangerousModePermissionPrompt"] is True


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/srv/shop", "-srv-shop"),
        ("/srv/a.b_c", "-srv-a-b-c"),
        ("/srv/a..b", "-srv-a--b"),
        ("/srv/with space", "-srv-with-space"),
        ("/srv/CamelCase9", "-srv-CamelCase9"),
        ("/srv/tilde~+=@", "-srv-tilde----"),
        ("/srv/über-größe", "-srv--ber-gr--e"),
        ("/srv/日本", "-srv---"),
        ("/srv/emoji😀z", "-srv-emoji--z"),
        ("/srv/long/" + "y" * 205, "-srv-long-" + "y" * 190 + "-osn8gj"),
        ("/srv/long/" + "y" * 206, "-srv-long-" + "y" * 190 + "-co8bl8"),
    ],
)
def test_transcripts_are_found_where_the_cli_was_seen_to_put_them(cwd: str, name: str) -> None:
    assert claude.transcript_path("/home/u", cwd, SESSION) == f"/home/u/.claude/projects/{name}/{SESSION}.jsonl"


def test_a_configuration_directory_of_its_own_moves_the_transcripts() -> None:
    assert claude.transcript_path("/home/u", "/w", "id", "/etc/cc") == "/etc/cc/projects/-w/id.jsonl"


@given(st.text(st.characters(exclude_characters="/\0")))
def test_a_transcripts_path_has_no_surprises(part: str) -> None:
    name = (
        claude.transcript_path("/h", f"/srv/{part}", "id")
        .removeprefix("/h/.claude/projects/")
        .removesuffix("/id.jsonl")
    )

    assert re.fullmatch(r"[A-Za-z0-9-]{1,208}", name)


@pytest.mark.parametrize(
    ("content", "resumable"),
    [
        (b"", False),
        (b"\xff\xfe garbage\n" * 50, False),
        (META, False),
        (b'{"a":1}\n' * 20, False),
        (b"[1]\n7\nnull\n", False),
        (META + USER, True),
        (META + USER + b'{"type":"assis', True),
        (META + USER + b"\0" * 4096, True),
        (b"xx\n" + META + USER, True),
        (META + USER + b"\x01\x02junk" * 50, True),
        (b"[" * 100_000 + b"\n" + USER, True),
        (META + USER[:30], False),
    ],
    ids=["empty", "garbage", "first record only", "no message", "no record", "whole", "cut in the last line",
         "NULs at the end", "garbage first", "garbage last", "deeply nested line", "cut in its only message"],
)  # fmt: skip
def test_f_res_7_what_the_cli_would_refuse_to_resume_is_told_beforehand(content: bytes, resumable: bool) -> None:
    assert claude.transcript_is_resumable(content, content, len(content)) is resumable


def test_a_long_transcript_is_judged_by_its_ends() -> None:
    middle = META * 100
    assert claude.transcript_is_resumable(META, USER, 10_000_000)
    assert claude.transcript_is_resumable(USER[:40], b"", 10_000_000)
    assert claude.transcript_is_resumable(META, b"\0\0", len(middle))
    assert not claude.transcript_is_resumable(b"\0" * 100, b"\0" * 100, 10_000_000)


@given(st.binary(), st.binary(), st.integers(min_value=0))
def test_no_bytes_disturb_the_check(head: bytes, tail: bytes, size: int) -> None:
    claude.transcript_is_resumable(head, tail, size)


def test_the_seed_spares_every_dialog_and_keeps_the_rest() -> None:
    existing = {"theme": "light", "numStartups": 7, "projects": {"/a": {"x": 1}, "/b": {"y": 2}}}
    existing |= {"customApiKeyResponses": {"approved": ["old"], "rejected": ["tail", "other"]}}

    assert claude.trust_seed(existing, "/a", "tail") == {
        "theme": "light",
        "numStartups": 7,
        "hasCompletedOnboarding": True,
        "projects": {"/a": {"x": 1, "hasTrustDialogAccepted": True}, "/b": {"y": 2}},
        "customApiKeyResponses": {"approved": ["old", "tail"], "rejected": ["other"]},
    }


def test_the_seed_works_on_an_empty_home_and_twice() -> None:
    once = claude.trust_seed({}, "/a", claude.api_key_tail("sk-" + "x" * 40 + "ghijklmnopqrstuvwxyz"))

    assert once["customApiKeyResponses"]["approved"] == ["ghijklmnopqrstuvwxyz"]
    assert claude.trust_seed(once, "/a", "ghijklmnopqrstuvwxyz") == once


def test_without_a_key_nothing_is_said_about_keys() -> None:
    assert "customApiKeyResponses" not in claude.trust_seed({}, "/a", None)


@pytest.mark.parametrize(
    "odd", [{"projects": []}, {"projects": {"/a": 1}}, {"customApiKeyResponses": {"approved": "x"}}]
)
def test_a_file_of_another_shape_is_left_alone(odd: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is no"):
        claude.trust_seed(odd, "/a", "tail")


def test_a_text_is_typed_as_it_comes_out_again() -> None:
    prompt = claude.typed_prompt("one\ttwo \n\tthree\n\n")

    assert (prompt.text, prompt.problem, prompt.is_command) == ("one    two \n    three", "", False)
    assert claude.typed_prompt(prompt.text) == prompt


@pytest.mark.parametrize("text", ["!rm -rf .", "", " \n\t"])
def test_what_would_run_in_a_shell_or_say_nothing_is_not_typed(text: str) -> None:
    assert claude.typed_prompt(text).problem


@pytest.mark.parametrize(("text", "is_command"), [("/exit", True), ("/model opus", True), ("/srv/x is broken", False)])
def test_a_leading_slash_makes_a_command_and_a_path_none(text: str, is_command: bool) -> None:
    assert claude.typed_prompt(text).is_command is is_command


def test_a_queued_prompt_is_found_in_the_transcript() -> None:
    record = {"type": "queue-operation", "operation": "enqueue", "content": "and then"}

    assert claude.queued_prompt(record) == "and then"
    assert claude.queued_prompt({**record, "operation": "remove"}) is None
    assert claude.queued_prompt({**record, "content": ["and then"]}) is None


def test_promise_11_the_transcript_tells_whose_word_settled_a_permission() -> None:
    """Recorded with 2.1.197; only a hook's own decision is written as one."""
    decision = {
        "type": "hook_permission_decision",
        "decision": "allow",
        "toolUseID": "t",
        "hookEvent": "PermissionRequest",
    }
    result = {"tool_use_id": "t", "type": "tool_result", "content": "(Bash completed with no output)"}
    refusal = {
        **result,
        "content": f"{claude.REFUSED} The tool use was rejected (eg. if it was a file edit).",
        "is_error": True,
    }

    def told(**record: object) -> tuple[PermissionTold, ...]:
        return claude.permission_told({"timestamp": "2026-11-21T10:00:00.250Z", **record})

    def said(content: object) -> dict[str, object]:
        return {"role": "user", "content": content}

    at = 1795255200.25
    assert told(type="attachment", attachment=decision) == (PermissionTold("allowed", "t", at),)
    denied = {**decision, "decision": "deny"}
    assert told(type="attachment", attachment=denied) == (PermissionTold("denied", "t", at),)
    assert told(type="attachment", attachment={**decision, "hookEvent": "PreToolUse"}) == ()
    assert told(type="user", message=said([result])) == (PermissionTold("ended", "t", at),)
    assert told(type="user", message=said([result, {**refusal, "tool_use_id": "u"}])) == (
        PermissionTold("ended", "t", at),
        PermissionTold("refused", "u", at, refusal["content"]),
    )
    quoted = {**refusal, "is_error": False}
    assert told(type="user", message=said([quoted])) == (PermissionTold("ended", "t", at),), "a tool printed it"
    parts = [{"type": "text", "text": "Not now."}, {"type": "text", "text": "(phoenixd #7)"}]
    failed = {**result, "is_error": True, "content": parts}
    assert told(type="user", message=said([failed])) == (PermissionTold("ended", "t", at, "Not now.\n(phoenixd #7)"),)
    assert told(type="user", message=said([{**result, "tool_use_id": 5}])) == ()
    assert told(type="user", message=said("go on")) == ()
    # The copy of a result that 2.1.332 keeps beside its request to the API has no time.
    assert claude.permission_told({"type": "api-request-blob", "message": said([result])}) == ()
