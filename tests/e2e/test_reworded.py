"""A program whose hook tells of a prompt in other words than were typed, as one that trims or expands it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage

pytestmark = pytest.mark.slow

PROGRAM = """
import json, os, subprocess, sys

def tell(event, **body):
    subprocess.run([os.environ["PHOENIX_HOOK"], event], input=json.dumps(body), text=True, stdout=subprocess.DEVNULL)

def note(what, line):
    with open(sys.argv[1], "a") as file:
        file.write(json.dumps([what, line]) + "\\n")

tell("session-start")
while line := sys.stdin.readline():
    note("prompt", line)
    if line.strip():
        tell("prompt-submit", prompt=f"The operator says: {line.strip()}")
        print("Remove all files? [Y/n] ", end="", flush=True)
        note("answer", sys.stdin.readline())
        tell("stop")
"""


def read(path: Path) -> list[list[str]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_f_tmux_9_a_text_that_a_hook_names_in_other_words_is_entered_once_and_answers_no_dialog(stage: Stage) -> None:
    """No screen of it is known, so that a dialog which is no hook's cannot be seen."""
    program, lines = stage.root / "program.py", stage.root / "lines"
    program.write_text(PROGRAM)
    argv = json.dumps([sys.executable, str(program), str(lines)])
    stage.declare("a", f'[agent.a]\nargv = {argv}\ncwd = "/"\n')
    stage.up()
    stage.until("its hooks are heard", lambda: stage.row("a")["activity"] == "idle")

    sent = stage.ctl("send", "a", "tidy up")

    assert read(lines) == [["prompt", "tidy up\n"]], sent
    assert (sent.returncode, "tells of another prompt" in sent.stdout) == (0, True), sent
