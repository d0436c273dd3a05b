"""`phoenixctl top` as a person has it: a real terminal and daemon, an agent that asks (faces, checks 12, 23, 24)."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.conftest import stage as stage
from tests.e2e.test_answers import Asking

pytestmark = pytest.mark.slow


class Terminal:
    """A terminal of its own in which top runs: keys go in, and what it shows is read."""

    def __init__(self, stage: Stage, *words: str, **env: str) -> None:
        self.stage, self._tmux = stage, ["tmux", "-S", str(stage.root / "seen.sock"), "-f", "/dev/null"]
        given = " ".join(f"{name}={shlex.quote(value)}" for name, value in env.items())
        where = f"PHOENIX_RUNTIME_DIR={shlex.quote(str(stage.runtime))} PYTHONPATH={shlex.quote(os.getcwd())}"
        command = f"env -u TMUX {where} {given} {sys.executable} -m phoenixd.ctl top {' '.join(words)}"
        command = f"echo before; {command}; echo left with $?; stty -a; exec cat"
        subprocess.run([*self._tmux, "new-session", "-d", "-x", "80", "-y", "24", command], check=True)

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)

    def press(self, *keys: str) -> None:
        subprocess.run([*self._tmux, "send-keys", *keys], check=True)

    def answer(self, key: str, words: str) -> None:
        """Press it until the screen shows this: a row that changed just now refuses a key, and a person reads again."""
        self.press(key)

        def answered() -> bool:
            shown = self.shown()
            if "has changed just now" in shown:
                self.press(key)
            return words in shown

        self.stage.until(f"{key} leads to {words!r}, but\n{self.shown()}", answered)

    def shown(self, *options: str) -> str:
        found = subprocess.run(
            [*self._tmux, "capture-pane", "-p", *options], capture_output=True, text=True, check=True
        )
        return found.stdout

    def until(self, words: str) -> None:
        self.stage.until(f"the screen shows {words!r}, but\n{self.shown()}", lambda: words in self.shown())


@pytest.fixture
def asking(stage: Stage) -> Iterator[Asking]:
    agent = Asking(stage, "docs")
    stage.up()
    stage.until_running("docs", 1)
    yield agent
    agent.close()


def test_a_blocked_question_is_answered_from_the_list_and_enter_leads_to_the_terminal_and_back(
    asking: Asking, stage: Stage
) -> None:
    terminal = Terminal(stage)
    try:
        terminal.until("1/1 alive")
        asking.put("question-1")
        terminal.until("1 NEEDS YOU")
        terminal.until("question-1: welche?")
        terminal.until("1-9 option")
        terminal.answer("2", "docs was told: größer")
        terminal.until("0 NEED YOU")
        assert "größer" in (asking.room / "question-1").read_text()
        asking.put("file-1")
        terminal.until("touch file-1")
        terminal.until("a allow once")
        terminal.answer("d", "because:")
        terminal.press("-l", "not today")
        terminal.press("Enter")
        terminal.until("was denied")
        assert asking.outcome("file-1") == ("answer", "no")
        before = _pane(stage)
        terminal.press("p")
        terminal.until("the terminal of docs")
        terminal.press("Escape")
        terminal.until("NEED YOU")
        assert _pane(stage) == before, "a peek touches nothing"
        terminal.press("Enter")
        stage.until("somebody is attached", lambda: _clients(stage) == 1)
        terminal.press("C-b", "d")
        terminal.until("back from docs")
        assert _clients(stage) == 0
        terminal.press("q")
        terminal.until("left with 0")
    finally:
        terminal.close()


def test_without_colour_there_is_none_and_a_hostile_name_of_a_file_acts_on_nothing(
    asking: Asking, stage: Stage
) -> None:
    terminal = Terminal(stage, NO_COLOR="1")
    try:
        asking.put("[red]\x1b[31m\x1b]0;pwned\x07x")
        terminal.until("NEEDS YOU")
        terminal.until("[red]<U+001B>[31m<U+001B>]0;pwned<U+0007>x")
        told = terminal.shown("-e")
        coloured = [code for code in ("\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[35m", "[38;", "[48;") if code in told]
        assert coloured == []
        title = subprocess.run(
            [*terminal._tmux, "display-message", "-p", "#{pane_title}"], capture_output=True, text=True, check=True
        )
        assert "pwned" not in title.stdout
    finally:
        terminal.close()


@pytest.mark.parametrize(("when", "is_coloured"), [("always", True), ("never", False)])
def test_color_is_heard_and_the_terminal_is_left_as_it_was(
    asking: Asking, stage: Stage, when: str, is_coloured: bool
) -> None:
    terminal = Terminal(stage, "--color", when, **({"NO_COLOR": "1"} if is_coloured else {}))
    try:
        terminal.until("1/1 alive")
        asking.put("file-1")
        terminal.until("touch file-1")
        terminal.until("a allow once")
        told = terminal.shown("-e")
        assert any(f"\x1b[{code}m" in told for code in ("31", "1;31", "1m\x1b[31")) == is_coloured, told
        terminal.press("q")
        terminal.until("left with 0")
        left = terminal.shown()
        assert left.startswith("before\nleft with 0")
        assert " echo " in left.replace("\n", " ")
        assert " icanon " in left.replace("\n", " ")
    finally:
        terminal.close()


def _tmux(stage: Stage, *words: str) -> str:
    socket = Path(stage.runtime) / "tmux.sock"
    return subprocess.run(["tmux", "-S", str(socket), *words], capture_output=True, text=True, check=True).stdout


def _pane(stage: Stage) -> str:
    return _tmux(stage, "list-panes", "-a", "-F", "#{pane_width}x#{pane_height} #{pane_in_mode} #{window_layout}")


def _clients(stage: Stage) -> int:
    """People who look at the agents' terminals; the daemon's own client is no person."""
    return _tmux(stage, "list-clients", "-F", "#{client_control_mode}").split().count("0")
