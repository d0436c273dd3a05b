"""What `phoenixctl top` says where it can draw no screen: one sentence, and what to type instead."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from phoenixd.ctl.grammar import Command, parse
from phoenixd.top import entry
from tests.clinic.test_without_the_extra import BLOCKED

MISSING = BLOCKED.replace("pydantic_ai", "textual")


class Terminal:
    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        return None


def top(*words: str, runtime: Path) -> int:
    command = parse(["top", *words, "--socket", str(runtime / "api.sock")])
    assert isinstance(command, Command)
    return entry.top(command)


def on_a_terminal(*words: str, runtime: Path, term: str = "xterm") -> int:
    """The same, but where it stands on one. Set here, because pytest puts its own streams back before each test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", Terminal())
        patch.setattr("sys.stdout", Terminal())
        patch.setenv("TERM", term)
        return top(*words, runtime=runtime)


def test_a_pipe_gets_no_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert top(runtime=tmp_path) == 2
    assert "no terminal" in (err := capsys.readouterr().err)
    assert err.endswith(f"do: phoenixctl --socket {tmp_path}/api.sock status --watch\n")


@pytest.mark.parametrize("term", ["", "dumb", "unknown"])
def test_a_terminal_that_says_nothing_of_itself_gets_a_sentence(
    term: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert on_a_terminal(runtime=tmp_path, term=term) == 2
    assert capsys.readouterr().err == (
        "TERM does not say which terminal this is, so no screen can be drawn\n"
        f"do: phoenixctl --socket {tmp_path}/api.sock status --watch\n"
    )


def test_a_selector_that_makes_no_sense_is_refused_before_the_screen_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert on_a_terminal("x:1", runtime=tmp_path) == 2
    assert "a selector has no key x:" in capsys.readouterr().err


def test_where_no_daemon_answers_it_says_what_every_verb_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert on_a_terminal(runtime=tmp_path) == 7
    assert f"nothing answers at {tmp_path / 'api.sock'}, where --socket says" in capsys.readouterr().err


def test_without_the_extra_one_sentence_names_the_command_and_every_other_verb_runs() -> None:
    program = f"""{MISSING}
import phoenixd.daemon
from phoenixd.ctl.command_line import OWN, PASSED_ON, _load
from phoenixd.ctl.grammar import parse
for place in (*OWN.values(), *PASSED_ON.values()):
    _load(place)
class Terminal:
    isatty = lambda self: True
    write = flush = lambda *words: None
sys.stdin = sys.stdout = Terminal()
raise SystemExit(_load(OWN["top"])(parse(["top", "--socket", "/b/api.sock"])))
"""
    told = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "TERM": "xterm"},
        check=False,
    )
    assert told.returncode == 1, told.stderr
    assert told.stderr == (
        "top needs textual 8, and it is not installed; phoenixctl --socket /b/api.sock status --watch needs nothing\n"
        "do: in the checkout: uv tool install '.[tui]', or pipx install --force '.[tui]', or "
        "pip install '.[tui]'\n"
    )
