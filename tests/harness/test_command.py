"""The open contract's command line: placeholders are whole arguments, and a resume needs nothing of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.harness import command
from phoenixd.harness.command import CommandLine, PromptVia

FILLED = CommandLine(
    ("tool", "--brief", "{brief}"), ("--new", "{session_id}", "{prompt}"), ("--go-on", "{session_id}", "{prompt}")
)


def test_placeholders_are_filled_in_as_whole_arguments() -> None:
    fresh = command.fresh_argv(FILLED, "id-1", "do; rm -rf $HOME", "/b.md")
    resumed = command.resume_argv(FILLED, "id-1", "continue", "/b.md")

    assert fresh == ["tool", "--brief", "/b.md", "--new", "id-1", "do; rm -rf $HOME"]
    assert resumed == ["tool", "--brief", "/b.md", "--go-on", "id-1", "continue"]


def test_without_resume_args_the_same_line_runs() -> None:
    line = CommandLine(("tool",), ("{session_id}",))

    assert command.resume_argv(line, "id-1", None, "/b") == command.fresh_argv(line, "id-1", None, "/b")


def test_empty_resume_args_mean_none() -> None:
    assert command.resume_argv(CommandLine(("tool",), ("--new",), ()), "id-1", None, "/b") == ["tool"]


def test_a_missing_prompt_still_is_an_argument() -> None:
    line = CommandLine(("tool", "--message", "{prompt}", "file"))

    assert command.fresh_argv(line, "id-1", None, "/b") == ["tool", "--message", "", "file"]


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8")))
def test_what_is_filled_in_is_not_filled_in_again(prompt: str) -> None:
    line = CommandLine(("tool", "{prompt}", "x{prompt}"))

    assert command.fresh_argv(line, "{prompt}", prompt, "{prompt}") == ["tool", prompt, "x{prompt}"]


def test_a_prompt_that_no_program_can_take_is_refused() -> None:
    with pytest.raises(ValueError, match="one argument"):
        command.fresh_argv(CommandLine(("tool", "{prompt}")), "id-1", "a\0b", "/b")


@pytest.mark.parametrize(
    ("line", "declared", "via"),
    [
        (CommandLine(("tool",)), None, "none"),
        (CommandLine(("tool", "{prompt}")), None, "argv"),
        (CommandLine(("tool",), ("{prompt}",)), None, "argv"),
        (CommandLine(("tool",), (), ("{prompt}",)), None, "argv"),
        (CommandLine(("tool", "x{prompt}")), None, "none"),
        (CommandLine(("tool",)), "paste", "paste"),
    ],
)
def test_how_the_prompt_goes_in(line: CommandLine, declared: PromptVia | None, via: PromptVia) -> None:
    assert command.prompt_via(line, declared) == via


@pytest.mark.parametrize(
    ("line", "declared", "says"),
    [
        (CommandLine(()), None, "argv is empty"),
        (CommandLine(("", "x")), None, "begins with an empty word"),
        (CommandLine(("tool", "--id={session_id}")), None, "whole argument"),
        (CommandLine(("tool",), (), ("--m={prompt}",)), None, "whole argument"),
        (CommandLine(("{brief}",)), None, "cannot be a placeholder"),
        (CommandLine(("tool",)), "argv", "needs an argument"),
        (CommandLine(("tool", "{prompt}")), "paste", "contradicts"),
    ],
)
def test_what_cannot_work_is_said(line: CommandLine, declared: PromptVia | None, says: str) -> None:
    (problem,) = command.check_argv(line, declared)

    assert says in problem


def test_a_good_line_has_no_problems() -> None:
    assert command.check_argv(FILLED, "argv") == []
