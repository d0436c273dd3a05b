"""The Gemini CLI's command line, extension and chats, as the real CLI was measured to take them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from phoenixd.core.spec import AgentSpec
from phoenixd.harness import HARNESSES, LaunchPlaces
from phoenixd.harness.gemini import harness as gemini
from phoenixd.harness.gemini import screens as gemini_screens
from phoenixd.harness.gemini.screens import input_line, screen_says

SESSION = "9af666a3-67e7-428d-b17a-50be7c761d09"
PLACES = LaunchPlaces("/s/brief.md", "/s/settings.json", "/l/phoenix-hook")
HEADER = b'{"sessionId":"9af666a3-67e7-428d-b17a-50be7c761d09","kind":"main"}\n'
USER = b'{"id":"1","type":"user","content":[{"text":"go"}]}\n'
ENDED = Path(__file__).with_name("ended")
"""What the terminal of a run of 0.61.0 shows that is over."""
SCREENS = sorted((Path(__file__).parents[1] / "screens" / "gemini-0.61.0").glob("*.txt"))


def spec(*argv: str, **changes: object) -> AgentSpec:
    return AgentSpec("a", ("gemini", *argv), "/srv/shop", harness="gemini", **changes)  # type: ignore[arg-type]


def line(mode: str, prompt: str | None, *argv: str, **changes: object) -> list[str]:
    return HARNESSES["gemini"].command_line(spec(*argv, **changes), mode, SESSION, prompt, PLACES)  # type: ignore[arg-type]


def test_the_session_is_chosen_and_a_prompt_may_begin_with_a_dash() -> None:
    assert line("fresh", "--go") == ["gemini", f"--session-id={SESSION}", "--prompt-interactive=--go"]
    assert line("resume", None, "-y") == ["gemini", "-y", f"--resume={SESSION}"]


def test_trust_is_given_by_an_argument_only_where_the_operator_said_so() -> None:
    assert "--skip-trust" in line("fresh", None, seed_trust=True)
    assert "--skip-trust" not in line("fresh", None)


def test_f_proc_26_a_worker_answers_as_json_so_that_its_exit_code_tells_what_the_api_answered() -> None:
    """Measured: as text it exits with 1 for a quota, a refused login and a full context alike."""
    assert "--output-format=stream-json" in line("fresh", "Go.", task="t1")
    assert "--output-format=stream-json" not in line("fresh", "Go.")
    for own in (("-o", "json"), ("--output-format=text",)):
        assert "--output-format=stream-json" not in line("fresh", "Go.", *own, task="t1")


def test_p35_after_clear_the_brief_comes_with_the_next_prompt() -> None:
    """What a hook says after /clear is dropped by this CLI."""
    made = gemini.hooks()["hooks"]
    always, cleared = made["SessionStart"]
    assert "matcher" not in always
    assert cleared["matcher"] == "clear"
    assert cleared["hooks"][0]["command"].endswith('"$PHOENIX_HOOK" session-start --owe')
    assert made["BeforeAgent"][0]["hooks"][0]["command"].endswith('"$PHOENIX_HOOK" prompt-submit --owed')


def test_who_names_extensions_gets_ours_as_well() -> None:
    assert "--extensions=phoenixd" in line("fresh", None, "-e", "other")
    assert "--extensions=phoenixd" in line("fresh", None, "--extensions=none")


def test_the_extension_is_ours_alone_and_silent_outside_phoenixd() -> None:
    files = HARNESSES["gemini"].own_files({"HOME": "/home/u"})

    assert {path.removeprefix("/home/u/.gemini/extensions/phoenixd/") for path in files} == {
        "gemini-extension.json", "hooks/hooks.json",
    }  # fmt: skip
    hooks = json.loads(files["/home/u/.gemini/extensions/phoenixd/hooks/hooks.json"])["hooks"]
    assert set(hooks) == set(gemini.EVENTS)
    for groups in hooks.values():
        assert groups[0]["hooks"][0]["command"].startswith('[ -z "$PHOENIX_HOOK" ] || "$PHOENIX_HOOK" ')


@pytest.mark.parametrize(
    "argv",
    [
        ["--resume", "latest"], ["-r", "5"], ["--session-id=x"], ["--session-file", "f"], ["-p", "do"], ["-i", "do"],
        ["--prompt-interactive=do"], ["--acp"], ["-w"], ["mcp", "list"], ["--list-sessions"], ["--"],
    ],
)  # fmt: skip
def test_f_res_6_a_command_that_cannot_be_supervised_is_refused_with_a_reason(argv: list[str]) -> None:
    assert gemini.check_argv(["gemini", *argv])


def test_an_operators_own_flags_are_kept() -> None:
    assert gemini.check_argv(["gemini", "--approval-mode", "yolo", "-m", "gemini-3-pro", "-e", "x"]) == []


def test_a_chat_is_found_below_any_project() -> None:
    harness = HARNESSES["gemini"]

    found = harness.transcript(spec(), SESSION, {"HOME": "/home/u"}, "/srv")
    assert found == "/home/u/.gemini/tmp/*/chats/session-*-9af666a3.jsonl"
    assert harness.transcript(spec(), "latest", {"HOME": "/home/u"}, "/srv") is None


@pytest.mark.parametrize(
    ("content", "resumable"),
    [(HEADER + USER, True), (HEADER + USER + b'{"cut', True), (HEADER, False), (b"", False), (b"\xff no\n" * 9, False)],
)
def test_f_res_7_a_chat_is_resumable_as_long_as_it_holds_a_message(content: bytes, resumable: bool) -> None:
    assert HARNESSES["gemini"].transcript_is_resumable(content, content, len(content)) is resumable


@pytest.mark.parametrize("path", SCREENS, ids=lambda path: path.stem)
def test_every_captured_screen_is_told(path: Path) -> None:
    shown = path.read_text(encoding="utf-8")

    assert screen_says(shown) == path.stem.split("--")[0]
    assert (input_line(shown) is None) == (path.stem.split("--")[0] not in ("idle", "working"))


def screen(name: str) -> str:
    return next(path for path in SCREENS if path.stem == name).read_text(encoding="utf-8")


def test_what_stands_unsent_is_seen_and_a_placeholder_is_not() -> None:
    assert input_line(screen("idle--draft")) == "Tidy the till."
    assert input_line(screen("working--draft")) == "And the door."
    assert input_line(screen("idle--fresh")) == ""
    assert input_line(screen("working--tool")) == ""


def test_what_waits_for_the_next_step_is_seen() -> None:
    assert gemini_screens.holds(screen("working--queued"), "And the door.\nMore of it.")
    assert not gemini_screens.holds(screen("working--queued"), "Another text")
    assert not gemini_screens.holds(screen("working--draft"), "And the door.")


def test_an_agents_words_cannot_pass_for_the_input_line() -> None:
    forged = "✦ See:\n  " + "─" * 60 + "\n   >   Type your message or @path/to/file\n"

    assert screen_says(forged + screen("permission--command")) == "permission"
    assert input_line(forged) is None


def test_a_command_is_typed_with_a_blank_behind_it_and_a_path_is_no_command() -> None:
    """Else an Enter that follows at once picks the first of all commands: /clear for /quit."""
    assert gemini.typed_prompt("/quit\n") == gemini.typed_prompt("/quit ")
    assert (gemini.typed_prompt("/quit").text, gemini.typed_prompt("/quit").is_command) == ("/quit ", True)
    assert not gemini.typed_prompt("/srv/x is broken").is_command
    assert gemini.typed_prompt(" a\tb \n").text == "a\tb"


@pytest.mark.parametrize("text", ["", " \n", "!rm -rf /", "  !ls"])
def test_what_would_run_in_a_shell_is_not_typed(text: str) -> None:
    assert gemini.typed_prompt(text).problem


@pytest.mark.parametrize("shown", sorted(ENDED.glob("*.txt")), ids=lambda path: path.stem)
def test_the_farewell_tells_a_person_who_left_from_a_signal(shown: Path) -> None:
    """Both end it with 0, and with the same reason by its hook."""
    text = shown.read_text()
    assert HARNESSES["gemini"].takes_leave(text, SESSION) is shown.stem.startswith("left")
    assert not HARNESSES["gemini"].takes_leave(text, SESSION.replace("9", "8"))


@pytest.mark.parametrize("shown", SCREENS, ids=lambda path: path.stem)
def test_no_screen_of_a_living_session_is_a_farewell(shown: Path) -> None:
    assert not HARNESSES["gemini"].takes_leave(shown.read_text(), SESSION)


def test_a_farewell_that_an_agent_prints_while_its_input_line_stands_is_none() -> None:
    printed = (ENDED / "left-by-keys.txt").read_text()
    at_rest = next(path for path in SCREENS if path.stem == "idle--after-turn").read_text()
    assert not HARNESSES["gemini"].takes_leave(printed + at_rest, SESSION)
    assert not HARNESSES["claude"].takes_leave(printed, SESSION)
