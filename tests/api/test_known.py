"""What is remembered of processes that live: it is true as long as they do, and gives nobody a right."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phoenixd.api import lineage as lineages
from phoenixd.api import peers, proc
from phoenixd.api.known import MOST, Held, Known, hold
from phoenixd.api.peers import identify
from tests.waiting import eventually_sync

ASKS = "import socket, sys; line = socket.socket(socket.AF_UNIX); line.connect(sys.argv[1]); line.recv(1)"
SERVER = """
import subprocess, sys
open("/proc/self/comm", "w").write("tmux: server")
shim = subprocess.Popen(["sleep", "1000"])
print(shim.pid, flush=True)
for line in sys.stdin:
    subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2]])
shim.kill()
"""


@pytest.fixture
def known(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Known:
    """A memory of the test's own; a parameter is for how many it has room."""
    fresh = Known(getattr(request, "param", MOST))
    monkeypatch.setattr(lineages, "KNOWN", fresh)
    monkeypatch.setattr("phoenixd.api.marks.KNOWN", fresh)
    return fresh


@pytest.fixture
def door(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "api.sock"))
        listener.listen()
        listener.settimeout(60)
        yield listener


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """What looks like a terminal server, and the pid of its shim; for each line it starts a program that asks."""
    argv = [sys.executable, "-c", SERVER, ASKS, str(tmp_path / "api.sock")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())


def ask(door: socket.socket, tmp_path: Path, shims: dict[int, str], agents: str = "") -> peers.Peer:
    """What is made of a child of ours that asks."""
    with subprocess.Popen([sys.executable, "-c", ASKS, str(tmp_path / "api.sock")]):
        connection, _ = door.accept()
        with connection:
            return identify(connection, shims, None, agents or str(tmp_path / "agents"))


def walked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The pids whose stat is read from now on."""
    read: list[int] = []

    def counted(pid: int) -> proc.Stat | None:
        read.append(pid)
        return stat_of(pid)

    stat_of = proc.stat_of
    monkeypatch.setattr(lineages, "stat_of", counted)
    return read


def test_of_an_operators_shell_the_way_up_is_walked_once(
    known: Known, door: socket.socket, server: tuple[Any, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shims = {server[1]: "docs"}
    first = ask(door, tmp_path, shims)
    read = walked(monkeypatch)
    again = ask(door, tmp_path, shims)

    assert (first.agent, first.unknown, again.agent, again.unknown) == (None, "", None, "")
    assert known.is_outside(os.getpid())
    assert os.getpid() not in read
    assert os.getppid() not in read


def test_who_is_below_a_shim_is_its_agent_whatever_was_remembered(
    known: Known, door: socket.socket, server: tuple[Any, int], tmp_path: Path
) -> None:
    ask(door, tmp_path, {server[1]: "docs"})
    assert known.is_outside(os.getpid())

    assert ask(door, tmp_path, {server[1]: "docs", os.getpid(): "docs"}).agent == "docs"


def test_who_bears_a_mark_below_a_remembered_shell_is_its_agent(
    known: Known, door: socket.socket, server: tuple[Any, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(door, tmp_path, {server[1]: "docs"})
    assert known.is_outside(os.getpid())
    monkeypatch.setenv("PHOENIX_STATE_DIR", str(tmp_path / "agents/docs"))

    assert ask(door, tmp_path, {server[1]: "docs"}).agent == "docs"


def test_what_the_terminal_server_starts_is_nobodys_and_is_not_remembered(
    known: Known, door: socket.socket, server: tuple[Any, int], tmp_path: Path
) -> None:
    process, shim = server
    for shims in ({}, {shim: "docs"}, {shim: "docs"}):
        process.stdin.write("ask\n")
        process.stdin.flush()
        connection, _ = door.accept()
        with connection:
            found = identify(connection, shims, None, str(tmp_path / "agents"))
        assert found.unknown == (lineages.OF_THE_TERMINAL if shims else "")
        assert not known.is_outside(process.pid)

    assert known.servers == {process.pid}


@pytest.mark.parametrize("known", [MOST, 1], indirect=True, ids=["room for both", "room for one"])
def test_a_second_terminal_server_is_one_beside_a_first_that_was_kept_alive(
    known: Known, door: socket.socket, server: tuple[Any, int], tmp_path: Path
) -> None:
    """An agent can take the server's socket away, and keep a pane in the server that is replaced."""
    ask(door, tmp_path, {server[1]: "docs"})
    argv = [sys.executable, "-c", SERVER, ASKS, str(tmp_path / "api.sock")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as second:
        assert second.stdin is not None
        assert second.stdout is not None
        shim = int(second.stdout.readline())
        for shims in ({server[1]: "docs", shim: "api"}, {shim: "docs"}):
            second.stdin.write("ask\n")
            second.stdin.flush()
            connection, _ = door.accept()
            with connection:
                found = identify(connection, shims, None, str(tmp_path / "agents"))
            assert found.unknown == lineages.OF_THE_TERMINAL
        server[0].stdin.write("ask\n")
        server[0].stdin.flush()
        connection, _ = door.accept()
        with connection:
            found = identify(connection, {shim: "docs"}, None, str(tmp_path / "agents"))

        assert found.unknown == lineages.OF_THE_TERMINAL, "the first one has no shim any more"
        assert known.servers == {server[0].pid, second.pid}


def test_without_a_terminal_server_nobody_is_remembered(known: Known, door: socket.socket, tmp_path: Path) -> None:
    """What an agent left behind in it could not be told from what lies outside."""
    assert ask(door, tmp_path, {}).unknown == ""
    assert not known.is_outside(os.getpid())


def test_what_was_remembered_ends_with_its_process(known: Known) -> None:
    with subprocess.Popen(["sleep", "1000"]) as shell:
        held = hold(shell.pid, lambda: True)
        assert held is not None
        known.add_outsider(held)
        server = hold(shell.pid, lambda: True)
        assert server is not None
        known.add_server(server, lambda: True)
        assert (known.is_outside(shell.pid), known.servers) == (True, {shell.pid})
        shell.kill()
        eventually_sync(lambda: not known.is_outside(shell.pid), 60, "it is forgotten")

    assert not known.servers


def test_who_is_another_by_the_time_it_is_held_is_not_held() -> None:
    before = len(os.listdir("/proc/self/fd"))

    assert hold(os.getpid(), lambda: False) is None
    assert hold(2**22 + 1, lambda: True) is None
    assert len(os.listdir("/proc/self/fd")) == before


def test_of_too_many_the_first_is_forgotten_with_its_descriptor() -> None:
    known = Known(most=2)
    before = len(os.listdir("/proc/self/fd"))
    for pid in (os.getpid(), os.getppid(), 1, 1):
        known.add_outsider(Held(pid, os.pidfd_open(pid)))

    assert [known.is_outside(pid) for pid in (os.getpid(), os.getppid(), 1)] == [False, True, True]
    assert len(os.listdir("/proc/self/fd")) == before + 2


def test_of_too_many_servers_none_is_forgotten_and_their_descriptors_are_bounded() -> None:
    """What an agent starts in a server that was forgotten would be an operator's."""
    known, alive = Known(most=2), set(range(1, 9))
    before = len(os.listdir("/proc/self/fd"))
    for number in sorted(alive):
        known.add_server(Held(number, os.pidfd_open(os.getpid())), lambda number=number: number in alive)

    assert known.servers == alive
    assert len(os.listdir("/proc/self/fd")) == before + 2

    alive -= {1, 3}
    known.add_server(Held(2, os.pidfd_open(os.getpid())), lambda: 2 in alive)
    assert known.servers == alive
    assert len(os.listdir("/proc/self/fd")) == before + 2


def test_a_server_that_is_held_no_longer_is_told_by_its_start_and_ends_with_its_process() -> None:
    with subprocess.Popen(["sleep", "1000"]) as process:
        found = proc.stat_of(process.pid)
        assert found is not None
        there = [lineages._is_there(process.pid, found.start_time + later) for later in (0, 1)]
        process.kill()

    assert there == [True, False], "another process has its number"
    assert not lineages._is_there(process.pid, found.start_time)


def test_a_shim_whose_pid_is_anothers_later_is_looked_at_again() -> None:
    known = Known()
    known.place(10)
    known.place(11)

    assert known.unplaced({10, 11, 12}) == {12}
    assert known.unplaced({11, 12}) == {12}
    assert known.unplaced({10, 11, 12}) == {10, 12}
