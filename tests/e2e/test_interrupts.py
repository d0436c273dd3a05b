"""Ctrl-C at a loop's terminal, for real: a client that is attached types it, and then nobody is (G42, F-PROC-5)."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from tests.waiting import eventually_sync

pytestmark = pytest.mark.slow

NAME = "looper"


@contextmanager
def attached(stage: Stage) -> Iterator[int]:
    """A terminal in which somebody sits who is attached to the loop's session; its descriptor is the keyboard."""
    keyboard, terminal = pty.openpty()
    command = ["tmux", "-S", str(stage.runtime / "tmux.sock"), "attach", "-t", f"=phx-{NAME}"]
    environ = {**stage.environ, "TERM": "xterm"}
    environ.pop("TMUX", None)
    client = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=environ)
    os.close(terminal)
    try:
        yield keyboard
    finally:
        client.kill()
        client.wait()
        os.close(keyboard)


def clients(stage: Stage) -> str:
    listed = subprocess.run(
        ["tmux", "-S", str(stage.runtime / "tmux.sock"), "list-clients", "-t", f"=phx-{NAME}"],
        capture_output=True,
        text=True,
        check=False,
    )
    return listed.stdout


def at_work(stage: Stage, short_tmp: Path) -> None:
    """A loop whose iterations wait to be interrupted, and end by that as a shell's commands do."""
    script = f"echo $$ > {short_tmp}/pid; exec sleep 1000"
    stage.declare(
        NAME,
        f'[agent.{NAME}]\nkind = "loop"\nargv = ["sh", "-c", {json.dumps(script)}]\ncwd = "{short_tmp}"\n'
        f'breaker = false\n[agent.{NAME}.loop]\npause = "0.05s"\n',
    )
    stage.up()
    stage.until_running(NAME, 1)


def test_g42_ctrl_c_of_somebody_who_is_attached_stops_the_loop_and_is_told(stage: Stage, short_tmp: Path) -> None:
    at_work(stage, short_tmp)
    with attached(stage) as keyboard:
        eventually_sync(lambda: bool(clients(stage)), what="the client is attached")
        os.write(keyboard, b"\x03")
        stage.until("the loop is stopped", lambda: stage.row(NAME)["state"] == "stopped")
    row = stage.row(NAME)
    assert (row["desired"], row["incarnation"]) == ("stopped", 1)
    items = json.loads(stage.ask("inbox", "--json"))["items"]
    assert [(item["agent"], item["kind"]) for item in items] == [(NAME, "stopped")]
    assert "phoenixctl start looper" in items[0]["text"]
    stage.ask("start", NAME)
    stage.until_running(NAME, 2)
    assert json.loads(stage.ask("inbox", "--json"))["items"] == []


def test_an_interrupt_with_nobody_there_is_a_failed_iteration(stage: Stage, short_tmp: Path) -> None:
    at_work(stage, short_tmp)
    os.kill(int((short_tmp / "pid").read_text()), signal.SIGINT)
    stage.until_running(NAME, 2)
    told = json.loads(stage.ask("events", NAME, "--all", "--json"))["events"]
    assert any("nobody sat at its terminal" in event["reason"] for event in told)
    assert json.loads(stage.ask("inbox", "--json"))["items"] == []
