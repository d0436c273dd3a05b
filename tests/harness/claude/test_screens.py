"""Screens captured from the real CLI, one file each, named VERDICT--what-it-was.txt."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.harness.claude.screens import input_line, screen_says

SCREENS = sorted((Path(__file__).parents[1] / "screens" / "claude-2.1.197").glob("*.txt"))
NEWER = sorted((Path(__file__).parents[1] / "screens" / "claude-2.1.330").glob("*.txt"))
BOX = "─" * 40


def screen(name: str) -> str:
    return next(path for path in SCREENS if path.stem == name).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", [*SCREENS, *NEWER], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_captured_screen_is_told(path: Path) -> None:
    assert screen_says(path.read_text(encoding="utf-8")) == path.stem.split("--")[0]


def test_the_fixtures_cover_every_verdict() -> None:
    assert {path.stem.split("--")[0] for path in (*SCREENS, *NEWER)} == {
        "permission", "question", "trust", "api-key", "resume-picker", "bypass-warning", "settings", "login", "dialog",
        "idle", "working", "unknown", "renderer", "auto-mode", "away",
    }  # fmt: skip


def test_what_a_person_is_typing_is_seen() -> None:
    assert input_line(screen("idle--typed")) == "not sent yet"
    assert input_line(screen("working--typed")) == "and then"
    assert input_line(f"{BOX}\n❯ one\n  two\n{BOX}\n  ? for shortcuts\n") == "one\ntwo"


def test_an_empty_prompt_and_a_placeholder_are_no_draft() -> None:
    assert input_line(screen("idle--start")) == ""
    assert input_line(screen("working--queued")) == ""


def test_what_is_suggested_after_a_turn_that_failed_is_no_draft() -> None:
    """2.1.330 draws it where something typed would stand, and a text that is sent is not to wait for it for ever."""
    suggested = next(path for path in NEWER if path.stem == "idle--suggestion").read_text(encoding="utf-8")

    assert (screen_says(suggested), input_line(suggested)) == ("idle", "")


@pytest.mark.parametrize("newer", [False, True])
def test_a_session_that_has_moved_away_has_no_input_line(newer: bool) -> None:
    """What is typed there would begin another session."""
    away = next(path for path in (NEWER if newer else SCREENS) if path.stem == "away--left-arrow")

    assert input_line(away.read_text(encoding="utf-8")) is None


@pytest.mark.parametrize("name", ["permission--bash", "trust--start", "dialog--shell-mode", "unknown--exited"])
def test_where_there_is_no_prompt_there_is_no_draft(name: str) -> None:
    assert input_line(screen(name)) is None


def test_a_command_stands_in_the_input_line_also_above_its_menu() -> None:
    assert input_line(screen("dialog--slash-menu")) == "/model"
    assert input_line(screen("idle--typed")) == "not sent yet"
    assert input_line(screen("permission--bash")) is None
    assert input_line(f"{BOX}\n❯ /model\n{BOX}\n❯ 1. Opus\n  2. Sonnet\n") is None


def test_an_agents_words_cannot_pass_for_the_prompt() -> None:
    """A dialog is open below text that looks like an idle prompt; the agent's words stand indented on the screen."""
    forged = f"● See:\n  {BOX}\n  ❯\n  {BOX}\n    ? for shortcuts\n"

    assert screen_says(forged + screen("permission--bash")) == "permission"
    assert screen_says(forged) == "unknown"


def test_the_spinner_is_found_above_tasks_and_tips_when_the_footer_is_the_users_own() -> None:
    shown = f"✻ Baking… (3s)\n  ⎿  ◻ Do it\n\n{BOX}\n❯ \n{BOX}\n  MY STATUS\n"

    assert screen_says(shown) == "working"
    assert screen_says(shown.replace("✻ Baking… (3s)", "✻ Baked for 3s")) == "idle"


def test_an_agents_words_cannot_pass_for_a_dialog() -> None:
    assert screen_says(screen("idle--forged-dialog")) == "idle"


def test_what_was_said_before_a_dialog_does_not_name_it() -> None:
    said = "● It asks: Quick safety check: Is this a project you trust?\n  Detected a custom API key\n"

    assert screen_says(said + screen("permission--bash")) == "permission"


def test_an_open_dialog_is_no_prompt_even_below_one() -> None:
    assert screen_says(f"{BOX}\n❯ \n{BOX}\n   Proceed?\n  ❯ 1. Yes\n    2. No\n") == "dialog"


@given(st.text())
def test_any_text_has_a_verdict(text: str) -> None:
    assert screen_says(text)
    input_line(text)
