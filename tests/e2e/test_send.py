"""Texts to terminals that misbehave: each arrives exactly once, or is reported as not delivered (F-TMUX-9)."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e import balky_cli
from tests.proof.prompts import TERMINALS, Terminal, correspond


@pytest.mark.slow
def test_f_tmux_9_each_of_20_prompts_arrives_exactly_once_or_is_reported_as_not_delivered(stage: Stage) -> None:
    found = correspond(stage, TERMINALS, 2, seed=4)

    assert [wrong for one in found for wrong in one.wrong] == []
    assert sum(one.approved for one in found) == 0
    assert sum(len(one.said) for one in found) == 20
    assert sum(sum(one.said.values()) for one in found) >= 10, [one.reasons for one in found]


@pytest.mark.slow
def test_a_text_under_way_when_the_daemon_is_killed_is_typed_once_or_not_delivered(stage: Stage) -> None:
    """phoenixctl asks the next daemon by the same key, and that one types nothing twice, and says what became of it."""
    (one,) = correspond(stage, (Terminal(("swallows",)),), 1, seed=1)
    assert stage.ctl("send", one.name, "once", "--key", "k").returncode == 0
    text, last = "what a killed daemon was typing", "the last one, which nothing is in the way of"
    ctl = [sys.executable, "-m", "phoenixd.ctl", "--socket", str(stage.runtime / "api.sock"), "send", one.name]
    sending = subprocess.Popen(
        [*ctl, text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=stage.environ
    )
    time.sleep(random.uniform(0.2, 1.2))  # The moment is anybody's.

    stage.kill()
    stage.up()

    said = "".join(sending.communicate(timeout=60))
    # 7: the daemon was killed before phoenixctl had reached it.
    assert sending.returncode in (0, 1, 7), said
    assert "not sent again" in stage.ask("send", one.name, "once", "--key", "k")
    stage.ask("send", one.name, last)
    one.said |= {text: sending.returncode == 0, "once": True, last: True}
    one.why |= {text: said, "once": "", last: ""}
    assert one.wrong == []


def test_what_a_killed_daemon_left_in_an_input_line_is_taken_out_by_the_next(stage: Stage) -> None:
    """Nobody sends anything more: the next daemon looks by itself, and says what became of the text."""
    log, text = stage.root / "deaf.log", "a half line"
    (stage.root / "home").mkdir()
    argv = json.dumps([sys.executable, balky_cli.__file__, str(log), "1", "deaf"])
    env = f'{{ HOME = "{stage.root}/home" }}'
    stage.declare("deaf", f'[agent.deaf]\nharness = "claude"\nargv = {argv}\ncwd = "{stage.root}"\nenv = {env}\n')
    stage.up()
    stage.until("it runs", lambda: stage.row("deaf")["state"] == "running")
    ctl = [sys.executable, "-m", "phoenixd.ctl", "--socket", str(stage.runtime / "api.sock"), "send", "deaf", text]
    sending = subprocess.Popen(ctl, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=stage.environ)
    stage.until("the text stands there", lambda: text in shown(stage))

    stage.kill()
    stage.up()

    said = "".join(sending.communicate(timeout=60))
    assert (sending.returncode, "taken out of the input line again" in said) == (1, True), said
    assert text not in shown(stage)
    assert not log.exists() or "submitted" not in log.read_text()


def shown(stage: Stage) -> str:
    """What stands on the agent's screen."""
    socket = str(stage.runtime / "tmux.sock")
    capture = ["tmux", "-N", "-S", socket, "capture-pane", "-p", "-t", "=phx-deaf:0.0"]
    return subprocess.run(capture, capture_output=True, text=True, check=False).stdout
