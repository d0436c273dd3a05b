"""Codex's command line, hooks, trust and rollouts, as the real CLI was measured to take them."""

from __future__ import annotations

import itertools
import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.core.spec import AgentSpec
from phoenixd.harness import HARNESSES, LaunchPlaces
from phoenixd.harness.codex import harness as codex
from phoenixd.harness.codex import screens as codex_screens
from phoenixd.harness.codex.screens import input_line, screen_says

SESSION = "01a1fe94-9bfb-7393-9131-a321aada863b"
PLACES = LaunchPlaces("/s/brief.md", "/s/settings.json", "/l/a b/phoenix-hook")
META = b'{"timestamp":"2026-11-21T14:48:34Z","ordinal":0,"type":"session_meta","payload":{}}\n'
SCREENS = sorted((Path(__file__).parents[1] / "screens" / "codex-0.169.0").glob("*.txt"))


def spec(*argv: str, **changes: object) -> AgentSpec:
    return AgentSpec("a", ("codex", *argv), '/srv/shöp "x"', harness="codex", **changes)  # type: ignore[arg-type]


def overrides(line: list[str]) -> dict[str, object]:
    """What the -c flags of a command line say together, read as TOML."""
    return {
        key: value
        for before, argument in itertools.pairwise(line)
        if before == "-c"
        for key, value in tomllib.loads(argument).items()
    }


def test_a_fresh_start_names_no_session_and_starts_no_server() -> None:
    line = HARNESSES["codex"].command_line(spec("-m", "gpt-5.5"), "fresh", "ignored", "--do it", PLACES)

    assert line[:4] == ["codex", "-m", "gpt-5.5", "--no-daemon"]
    assert line[-2:] == ["--", "--do it"]
    assert "ignored" not in line


def test_a_resume_goes_on_with_the_session_and_without_a_prompt_submits_none() -> None:
    harness = HARNESSES["codex"]

    assert harness.command_line(spec(), "resume", SESSION, "go on", PLACES)[-4:] == ["resume", SESSION, "--", "go on"]
    assert harness.command_line(spec(), "resume", SESSION, None, PLACES)[-2:] == ["resume", SESSION]
    worker = harness.command_line(replace(spec(), task="t1"), "resume", SESSION, "seal it", PLACES)
    assert worker[-8:] == [
        "exec", "--skip-git-repo-check", "--add-dir", PLACES.out, "resume", SESSION, "--", "seal it",
    ]  # fmt: skip


def test_every_hook_is_trusted_by_the_hash_of_exactly_itself() -> None:
    hooks = overrides(HARNESSES["codex"].command_line(spec(), "fresh", "", None, PLACES))["hooks"]
    assert isinstance(hooks, dict)
    state = hooks.pop("state")

    assert set(hooks) == set(codex.EVENTS)
    assert len(state) == len(hooks)
    assert hooks["SessionStart"] == [
        {"hooks": [{"type": "command", "command": "'/l/a b/phoenix-hook' session-start", "timeout": 5}]}
    ]


def test_a_hook_is_known_by_the_sum_of_its_canonical_json() -> None:
    """That this is the sum which the CLI computes is shown by the real one, in tests/real."""
    hook = {"type": "command", "command": "/usr/lib/phoenix-hook session-start", "timeout": 5}

    assert codex.trusted_hash("session_start", hook) == (
        "sha256:c95e04df2a12b2ade15a05427662afdfef594417bf48ec7339dbc73fee339ca2"
    )


def test_the_directory_is_trusted_by_an_argument_only_where_the_operator_said_so() -> None:
    line = HARNESSES["codex"].command_line

    assert "projects" not in overrides(line(spec(), "fresh", "", None, PLACES))
    seeded = overrides(line(spec(seed_trust=True), "fresh", "", None, PLACES))
    assert seeded["projects"] == {'/srv/shöp "x"': {"trust_level": "trusted"}}


@pytest.mark.parametrize(
    "argv",
    [
        ["exec", "do"], ["resume", "--last"], ["fork"], ["agents"], ["-m", "x", "e"], ["--remote", "ws://x"],
        ["--remote=ws://x"], ["--worktree"], ["-C", "/srv"], ["--cd=/srv"], ["-c", "hooks.Stop=[]"],
        ["--config", "features.hooks=false"], ["--disable", "hooks"], ["--"],
    ],
)  # fmt: skip
def test_f_res_6_a_command_that_cannot_be_supervised_is_refused_with_a_reason(argv: list[str]) -> None:
    assert codex.check_argv(["codex", *argv])


def test_an_operators_own_flags_are_kept() -> None:
    assert codex.check_argv(["codex", "-m", "resume", "-c", "model_reasoning_effort=high", "--search"]) == []


def test_a_rollout_is_found_below_any_day_and_without_an_id_of_theirs_there_is_none() -> None:
    harness = HARNESSES["codex"]

    home = {"HOME": "/home/[u]"}
    found = harness.transcript(spec(), SESSION, home, "/srv")
    assert found == f"/home/[[]u]/.codex/sessions/*/*/*/rollout-*-{SESSION}.jsonl"
    assert harness.transcript(spec(), SESSION, {"CODEX_HOME": "/c"}, "/srv") == found.replace(
        "/home/[[]u]/.codex", "/c"
    )
    assert harness.transcript(spec(), "../../x", home, "/srv") is None


@pytest.mark.parametrize(
    ("content", "resumable"),
    [(META, True), (META + b'{"cut', True), (b"xx\n" + META, True), (b"", False), (b"\xff\xfe no\n" * 9, False)],
)
def test_f_res_7_a_rollout_is_resumable_as_long_as_it_names_its_session(content: bytes, resumable: bool) -> None:
    assert HARNESSES["codex"].transcript_is_resumable(content, content, len(content)) is resumable


def test_a_login_is_looked_for_only_where_no_key_is_given() -> None:
    harness = HARNESSES["codex"]

    assert harness.needed_login({"OPENAI_API_KEY": "k"}) is None
    login = harness.needed_login({"HOME": "/home/u"})
    assert login is not None
    assert login.files == ("/home/u/.codex/auth.json",)


@pytest.mark.parametrize("path", SCREENS, ids=lambda path: path.stem)
def test_every_captured_screen_is_told(path: Path) -> None:
    shown = path.read_text(encoding="utf-8")

    assert screen_says(shown) == path.stem.split("--")[0]
    assert (input_line(shown) is None) == (path.stem.split("--")[0] not in ("idle", "working"))


def screen(name: str) -> str:
    return next(path for path in SCREENS if path.stem == name).read_text(encoding="utf-8")


def test_what_stands_unsent_is_seen_and_a_placeholder_is_not() -> None:
    assert input_line(screen("idle--draft")) == "Tidy the till.\n\n1. first\n› second"
    assert input_line(screen("working--draft")) == "And the door."
    assert input_line(screen("idle--fresh")) == ""
    assert input_line(screen("working--queued")) == ""


def test_what_waits_for_the_next_step_is_seen() -> None:
    assert codex_screens.holds(screen("working--queued"), "And the door.\nMore of it.")
    assert not codex_screens.holds(screen("working--queued"), "Another text")
    assert not codex_screens.holds(screen("working--draft"), "And the door.")


@pytest.mark.parametrize(
    ("text", "typed", "is_command"),
    [
        ("go on", "go on", False), ("  a\tb \n", "a\tb", False), ("/compact", "/compact", True),
        ("/srv/x is broken", "/srv/x is broken", False),
    ],
)  # fmt: skip
def test_what_is_typed_is_what_the_hook_will_tell(text: str, typed: str, is_command: bool) -> None:
    prompt = codex.typed_prompt(text)

    assert (prompt.text, prompt.is_command, prompt.problem) == (typed, is_command, "")


@pytest.mark.parametrize("text", ["", " \n", "!rm -rf /", "  !ls"])
def test_what_would_run_in_a_shell_is_not_typed(text: str) -> None:
    assert codex.typed_prompt(text).problem


def test_the_flags_are_one_argument_each_and_no_shell_is_asked() -> None:
    flags = codex.launch_flags("/l/$(x)`y`'/phoenix-hook", None)

    assert len(flags) == 3
    command = json.loads(json.dumps(tomllib.loads(flags[2])["hooks"]["Stop"][0]["hooks"][0]["command"]))
    assert command == "'/l/$(x)`y`'\"'\"'/phoenix-hook' stop"
