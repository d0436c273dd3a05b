"""Hook programs that wait: with PHOENIX_HOLDS a permission-request comes back with its answer (P9)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.shim.pane import DEADLINE, Daemon, Event
from tests.waiting import eventually_sync

ALLOW = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}
QUESTION = {"tool_name": "Bash", "tool_input": {"command": "touch x"}}
Ask = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def running(daemon: Daemon) -> Event:
    return daemon.start(["sleep", "1000"], holds_permissions=True)


@pytest.fixture
def ask(daemon: Daemon, library: Path, running: Event) -> Iterator[Ask]:
    programs: list[subprocess.Popen[bytes]] = []

    def one(question: object = QUESTION, **changes: str) -> subprocess.Popen[bytes]:
        order = daemon.pane.order(["-"])
        environment = {**order["env"], "PHOENIX_INCARNATION": str(running["incarnation"]), "PHOENIX_HOLDS": "1"}
        (daemon.pane.room / "question").write_text(json.dumps(question))
        with (daemon.pane.room / "question").open("rb") as stdin:
            program = subprocess.Popen(
                [str(library / "phoenix-hook"), "permission-request"],
                env={**environment, **changes},
                stdin=stdin,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        programs.append(program)
        return program

    yield one
    for program in programs:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)
        program.wait(DEADLINE)
        assert program.stdout is not None
        program.stdout.close()


def said(program: subprocess.Popen[bytes]) -> bytes:
    """All that it printed, once it came back."""
    assert program.stdout is not None
    output = program.stdout.read()
    assert program.wait(DEADLINE) == 0
    return output


def left(daemon: Daemon) -> list[str]:
    return [path.name for path in (daemon.pane.run / "hooks").iterdir()]


def test_promise_11_it_waits_and_prints_the_answer_as_one_line(daemon: Daemon, ask: Ask) -> None:
    program = ask()
    event = daemon.expect("hook")
    assert event["payload"]["held"] is True
    assert daemon.hello()["held"] == [event["seq"]]

    daemon.send(op="answer", incarnation=1, seq=event["seq"], body=ALLOW)

    assert json.loads(said(program)) == ALLOW
    assert daemon.expect("answered")["taken"] is True
    eventually_sync(lambda: left(daemon) == [], what="nothing is left behind")


def test_promise_11_let_go_of_it_prints_nothing(daemon: Daemon, ask: Ask) -> None:
    program = ask()
    daemon.send(op="answer", incarnation=1, seq=daemon.expect("hook")["seq"], body={})

    assert said(program) == b""


def test_promise_11_a_program_that_was_killed_is_told_of_and_takes_no_answer(daemon: Daemon, ask: Ask) -> None:
    program = ask()
    event = daemon.expect("hook")

    os.killpg(program.pid, signal.SIGKILL)

    assert daemon.expect("released")["seq"] == event["seq"]
    daemon.send(op="answer", incarnation=1, seq=event["seq"], body=ALLOW)
    assert daemon.expect("answered")["taken"] is False


def test_promise_11_the_end_of_the_run_lets_it_go(daemon: Daemon, ask: Ask) -> None:
    program = ask()
    event = daemon.expect("hook")

    daemon.send(op="kill", incarnation=1)

    assert daemon.expect("released")["seq"] == event["seq"]
    assert said(program) == b""


def test_promise_11_what_is_not_held_is_back_at_once(daemon: Daemon, ask: Ask) -> None:
    for question, changes in (
        ({"tool_name": "Bash", "tool_input": {"command": "x" * 9000}}, {}),
        ("no object", {}),
        (QUESTION, {"PHOENIX_INCARNATION": "7"}),
        (QUESTION, {"PHOENIX_HOLDS": ""}),
        (QUESTION, {"PHOENIX_HOOK_DIR": "/nonexistent"}),
    ):
        assert said(ask(question, **changes)) == b""
    assert daemon.hello()["held"] == []


def test_promise_11_what_stands_in_the_place_of_its_fifo_is_not_written_to(daemon: Daemon, running: Event) -> None:
    """The agent can write there: a file, or a link to one, is no waiting program."""
    hooks, target = daemon.pane.run / "hooks", daemon.pane.room / "target"
    target.write_text("as it was")
    for number, make in enumerate((lambda path: path.symlink_to(target), lambda path: path.write_text(""))):
        make(hooks / f"1.{number}.reply")
        (hooks / f"1.{number}.json").write_text(json.dumps(QUESTION))
        with (daemon.pane.run / "hook.fifo").open("r+b", buffering=0) as fifo:
            fifo.write(f"permission-request 1.{number}.json held\n".encode())
        assert daemon.expect("released")["seq"] > 0
    assert target.read_text() == "as it was"
