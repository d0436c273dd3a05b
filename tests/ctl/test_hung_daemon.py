"""A daemon that is there and answers nobody is named, with what ends it, and nobody waits for it in silence."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.ctl import absence, calls, daemon_start, local_doctor, wire
from phoenixd.ctl.grammar import Command
from tests.ctl.conftest import environment
from tests.ctl.forked import run_forked


@pytest.fixture
def hung(runtime: Path) -> Iterator[Path]:
    """A socket that takes everybody in, as the kernel does for a stopped process, and says nothing."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(os.fspath(runtime / "api.sock"))
        listener.listen(16)
        yield runtime / "api.sock"


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "SILENCE", 0.05)
    monkeypatch.setattr(wire, "LOOK", 0.05)
    monkeypatch.setattr(wire, "TIMEOUT", 0.3)
    monkeypatch.setattr(wire._Shown, "silent", False)


def test_a_hung_daemon_is_named_with_what_ends_it(hung: Path, hurried: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "environment", lambda: {b"PHOENIX_RUNTIME_DIR": os.fsencode(hung.parent)})
    monkeypatch.setenv("PHOENIX_RUNTIME_DIR", os.fspath(hung.parent))

    code, why, remedy = absence.absence([os.fsencode(hung)])

    assert code == 7
    assert f"phoenixd (pid {os.getpid()}) is there, and answers nothing; its agents live on" in why
    assert why.endswith(f"its log after: kill -USR2 {os.getpid()}")
    assert remedy == f"kill -9 {os.getpid()} && phoenixctl up"


def test_no_question_waits_longer_for_a_daemon_that_answers_nobody(hung: Path, hurried: None) -> None:
    """However long the verb itself may take; and the next question waits no more."""
    places = [os.fsencode(hung)]

    assert wire.ask(places, "POST", "/v1/anything", timeout=100_000.0) is None
    assert wire._Shown.silent
    assert wire.ask(places, "POST", "/v1/anything", timeout=100_000.0) is None


def asked(place: Path, name: str) -> Command:
    return Command((name,), calls.operation(name), {}, os.fspath(place), False)


def test_doctor_does_not_send_to_doctor(hung: Path, hurried: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert local_doctor.doctor(asked(hung, "doctor")) == 7

    said = " ".join(capsys.readouterr().out.split())
    assert f"kill -9 {os.getpid()} && phoenixctl up" in said
    assert "do: phoenixctl doctor" not in said


def test_up_names_the_daemon_that_answers_nothing(
    hung: Path, hurried: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert daemon_start.up(asked(hung, "up")) == 7

    remedy = capsys.readouterr().err.splitlines()[-1]
    assert remedy.startswith(f"do: kill -9 {os.getpid()} && phoenixctl up")


def test_who_waits_at_a_terminal_is_told_for_what(
    hung: Path, hurried: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("posix.isatty", lambda descriptor: descriptor == 2)

    assert wire.ask([os.fsencode(hung)], "GET", "/v1/agents", timeout=100_000.0) is None
    monkeypatch.undo()
    assert capfd.readouterr().err.count("phoenixd has not answered for ") == 1


async def test_a_shells_prompt_is_there_whatever_the_daemon_does(hung: Path, home: Path) -> None:
    ran = await run_forked("prompt", env=environment(home, PHOENIX_RUNTIME_DIR=os.fspath(hung.parent)))

    assert (ran.code, ran.out, ran.err) == (7, "?\n", "")


LISTENS = """
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(16)
print(".", flush=True)
input()
"""


@pytest.fixture
def stopped(runtime: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that listens at the daemon's socket, and was stopped."""
    argv = [sys.executable, "-c", LISTENS, os.fspath(runtime / "api.sock")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == ".\n"
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        yield process
        process.kill()


def test_a_stopped_daemon_is_waited_for_no_longer_than_it_takes_to_see_that_and_is_let_go_on(
    stopped: subprocess.Popen[str], runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is told to kill what somebody holds in a debugger, and no text is typed anew for half a minute."""
    monkeypatch.setattr(wire, "SILENCE", 0.05)
    monkeypatch.setattr(wire, "LOOK", 0.05)
    monkeypatch.setattr(wire, "TIMEOUT", 100_000.0)
    monkeypatch.setattr(calls, "COMES_BACK", 100_000.0)
    monkeypatch.setattr(wire._Shown, "silent", False)
    place = runtime / "api.sock"

    assert (
        calls.insist(asked(place, "send_text"), calls.operation("send_text"), {"name": "a", "text": "x"}, "k") is None
    )

    code, why, remedy = absence.absence([os.fsencode(place)])
    assert (code, remedy) == (7, f"kill -CONT {stopped.pid}")
    assert f"phoenixd (pid {stopped.pid}) was stopped, by SIGSTOP or a debugger" in why
