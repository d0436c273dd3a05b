"""Text of agents and operators that would run in a shell, in tmux or in a terminal: nothing of it does."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage

pytestmark = pytest.mark.slow

TRIES = 15
"""tmux runs #(...) as a race that a single try can win by chance."""


def hostile(mark: Path) -> str:
    return f"""#(touch {mark}) ; touch {mark} ; $(touch {mark}) `touch {mark}` '"; run-shell "touch {mark}" \\; """


def test_f_sy_15_prompts_paths_and_titles_run_nothing(stage: Stage) -> None:
    mark = stage.root / "pwned"
    text = hostile(mark)
    program = Path(__file__).with_name("reader.py")
    outs = []
    for number in range(TRIES):
        cwd = stage.root / f"d{number} #(touch pwned) ;'\"$(touch pwned)`touch pwned`"
        cwd.mkdir()
        out = stage.root / f"out{number}"
        outs.append(out)
        argv = [sys.executable, str(program), str(out), text, "{prompt}", "#{session_name} #(touch pwned)"]
        stage.declare(
            f"a{number}",
            f"[agent.a{number}]\nargv = {json.dumps(argv)}\ncwd = {json.dumps(str(cwd))}\n"
            f"prompt = {json.dumps(text + chr(10) + text)}\nenv = {{TITLE = {json.dumps(text)}}}\n",
        )
    stage.up()
    stage.until("all read", lambda: all(out.exists() for out in outs))
    for number in range(TRIES):
        stage.ask("send", f"a{number}", text)
        stage.ask("logs", f"a{number}")
    stage.ask("status")
    stage.until("all texts were typed", lambda: all(out.stat().st_size > len(text) for out in outs))
    assert not list(stage.root.rglob("pwned")), "something of the text was run"
    assert not (Path.cwd() / "pwned").exists()
    assert all(text.strip().encode() in out.read_bytes() for out in outs)


def test_f_sy_15_a_prompt_of_a_megabyte_arrives_byte_for_byte(stage: Stage) -> None:
    out = stage.root / "out"
    argv = [sys.executable, str(Path(__file__).with_name("reader.py")), str(out), "title"]
    stage.declare("a", f'[agent.a]\nargv = {json.dumps(argv)}\ncwd = "/"\n')
    stage.up()
    stage.until("it reads", out.exists)
    line = "The quick brown füx jumps over #(the) 'lazy' \"dog\"; $HOME `id`\tand 日本語.\n"
    text = (line * (1_000_000 // len(line.encode()) + 1)).rstrip("\n")
    sent = stage.ctl("send", "a", "-", input=text)
    assert sent.returncode == 0, sent.stderr
    stage.until("all of it was read", lambda: out.stat().st_size >= len(text.encode()))
    stage.until("Enter was pressed", lambda: out.read_bytes().endswith(b"\r"))
    assert out.read_bytes() == b"\x1b[200~" + text.encode() + b"\x1b[201~\r"
