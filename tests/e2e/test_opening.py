"""A program that is told its prompt by typing: prompt_via = "paste" (P36, F-TMUX-9)."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage

pytestmark = pytest.mark.slow

GOAL = "Work through docs/plan.md.\nThen: `touch x`; $HOME"
READER = """
import os, sys, tty
tty.setraw(0)
sys.stdout.write("\\x1b[?2004hready> "); sys.stdout.flush()
heard = b""
while True:
    heard += os.read(0, 4096)
    open(sys.argv[1], "wb").write(heard)
"""


def declare(stage: Stage, more: str = "") -> Path:
    """A program in raw mode that asks for bracketed paste and writes down every byte; one file for each run."""
    program = stage.root / "reader.py"
    program.write_text(READER)
    argv = json.dumps(["sh", "-c", f'exec {sys.executable} {program} "{stage.root}/heard.$PHOENIX_INCARNATION"'])
    keys = f'argv = {argv}\ncwd = "{os.getcwd()}"\nprompt_via = "paste"\nprompt = {json.dumps(GOAL)}\n{more}'
    stage.declare("a", f"[agent.a]\n{keys}")
    return stage.root


def heard(stage: Stage, root: Path, incarnation: int) -> str:
    path = root / f"heard.{incarnation}"
    stage.until(
        f"run {incarnation} was told something and Enter",
        lambda: path.exists() and path.read_bytes().endswith(b"\r"),
    )
    return path.read_bytes().decode()


def test_p36_the_goal_is_pasted_once_and_a_resume_says_what_happened(stage: Stage) -> None:
    root = declare(stage)
    stage.up()

    assert heard(stage, root, 1) == f"\x1b[200~{GOAL}\x1b[201~\r"
    stage.kill()
    stage.up()
    os.kill(stage.until_running("a", 1)["pid"], signal.SIGKILL)

    assert "You were interrupted" in heard(stage, root, 2)
    assert (root / "heard.1").read_bytes().decode() == f"\x1b[200~{GOAL}\x1b[201~\r", (
        "the next daemon types it not again"
    )


DEAF = """
import json, os, pathlib, subprocess, sys, time
room = pathlib.Path(sys.argv[1])
while not (room / "go").exists():
    time.sleep(0.02)
told = json.dumps({"session_id": os.environ["PHOENIX_SESSION_ID"], "prompt": sys.argv[2]})
subprocess.run([os.environ["PHOENIX_HOOK"], "prompt-submit"], input=told.encode(), check=True)
(room / "told").touch()
time.sleep(1000)
"""
"""Reads nothing, so that nobody knows yet what became of what is typed; told to, it says that it took the prompt."""


def test_p36_a_prompt_that_was_taken_while_no_daemon_lived_calls_nobody(stage: Stage) -> None:
    program, goal = stage.root / "deaf.py", "Work through docs/plan.md."
    program.write_text(DEAF)
    argv = json.dumps([sys.executable, str(program), str(stage.root), goal])
    stage.declare(
        "a", f'[agent.a]\nargv = {argv}\ncwd = "{os.getcwd()}"\nprompt_via = "paste"\nprompt = {json.dumps(goal)}\n'
    )
    stage.up()
    # A status may be ahead of the journal; a daemon that dies before that has it typed nothing, and the next one does.
    stage.until("its prompt is typed", lambda: "typing its prompt" in stage.ask("events", "a", "--all", "--json"))
    stage.kill()
    (stage.root / "go").touch()
    stage.until("the program says that it took its prompt", (stage.root / "told").exists)

    stage.up()

    story = stage.state / "agents" / "a" / "ops.jsonl"
    # The first daemon may have died before it wrote any.
    told = "text delivered (the agent took the prompt)"
    stage.until("it is told", lambda: story.exists() and told in story.read_text())
    assert stage.row("a")["alerts"] == []
