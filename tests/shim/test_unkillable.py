"""A process of the run that this user may not end is still there: told as gone, a new run would start beside it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests.shim.test_pure import load

with pytest.MonkeyPatch.context() as patched:
    patched.setitem(sys.modules, "procfs", load("procfs"))
    tree = load("tree")


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "100000"])
    yield process
    process.kill()
    process.wait()


def refusing(error: type[OSError]) -> object:
    def send(*_: object) -> None:
        raise error

    return send


@pytest.mark.parametrize(("error", "is_there"), [(PermissionError, True), (ProcessLookupError, False)])
def test_promise_5_what_may_not_be_ended_is_there_and_what_ended_meanwhile_is_not(
    process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, error: type[OSError], is_there: bool
) -> None:
    monkeypatch.setattr(signal, "pidfd_send_signal", refusing(error))

    assert tree._kill(process.pid, lambda _: True, lambda _: None) is is_there


def test_a_process_that_is_not_of_the_run_is_neither_there_nor_ended(process: subprocess.Popen[bytes]) -> None:
    remembered: list[int] = []

    assert not tree._kill(process.pid, lambda _: False, remembered.append)
    assert remembered == []
    assert process.poll() is None


def test_a_process_of_the_run_is_ended_and_remembered(process: subprocess.Popen[bytes]) -> None:
    remembered: list[int] = []

    assert tree._kill(process.pid, lambda _: True, remembered.append)
    assert remembered == [process.pid]
    assert process.wait(60) == -signal.SIGKILL


def test_a_process_that_is_gone_and_one_that_is_dead_live_no_more(
    process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that /proc hides lives: hidden is not gone."""
    assert tree._lives(process.pid)
    monkeypatch.setattr(tree.procfs, "status", lambda pid: None)
    for is_hidden in (False, True):
        monkeypatch.setattr(tree.procfs, "is_hidden", lambda pid, told=is_hidden: told)
        assert tree._lives(process.pid) is is_hidden
    for state in "RSDTtI":
        monkeypatch.setattr(tree.procfs, "status", lambda pid, told=state: SimpleNamespace(state=told))
        assert tree._lives(process.pid)
    for state in "ZX":
        monkeypatch.setattr(tree.procfs, "status", lambda pid, told=state: SimpleNamespace(state=told))
        assert not tree._lives(process.pid)
