"""Design section 6: who asks. Not known is three things, and each kind of caller has places of its own."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phoenixd.api import lineage as lineages
from phoenixd.api import marks, peers, proc
from phoenixd.api.lineage import Lack, lineage
from phoenixd.api.marks import agent_by_mark
from phoenixd.api.peers import Peer, identify
from phoenixd.api.places import AGENTS, OPERATORS, STREAMS, WAITS
from phoenixd.api.problems import Problem
from phoenixd.api.rights import Caller, Doorkeeper, Role
from phoenixd.api.server import AT_ONCE
from phoenixd.core.events.orders import StartRequested
from tests.api.conftest import Live, parse, serving
from tests.api.daemon import FakeDaemon
from tests.waiting import eventually, eventually_sync

FOLLOW = b"GET /v1/events HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n"
WAIT = b"GET /v1/agents/docs/wait?for=stopped HTTP/1.1\r\nhost: x\r\n\r\n"
MORE = 5
STOP = (
    b'POST /v1/agents/docs/stop HTTP/1.1\r\nhost: x\r\ncontent-length: 15\r\nconnection: close\r\n\r\n{"wait": false}'
)


@contextlib.contextmanager
def free_descriptors(count: int) -> Iterator[None]:
    """No more than this many can be opened: the kernel limits the number itself, and the lowest free one is given."""
    lowest_free = os.dup(0)
    os.close(lowest_free)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free + count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("free", [0, 1])
def test_without_descriptors_nobody_is_called_gone_a_stranger_or_an_operator(free: int) -> None:
    """An agent's process is no operator's, and an operator no stranger, because nobody could look."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        whole = identify(ours, {os.getpid(): "docs"}, None)
        with free_descriptors(free):
            found = identify(ours, {os.getpid(): "docs"}, None)

    assert (whole.agent, whole.lack) == ("docs", None)
    assert (found.agent, found.lack) in (("docs", None), (None, Lack.NO_DESCRIPTORS))
    assert free or found.lack is Lack.NO_DESCRIPTORS


def test_a_list_of_children_that_could_not_be_read_is_not_an_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the way up ends at a hidden process, what lies below the shims decides: unread, it says nothing."""
    monkeypatch.setattr(lineages, "stat_of", lambda pid: None)
    with free_descriptors(1):
        assert lineage(os.getpid(), {os.getpid() + 1: "docs"}, None).lack is Lack.NO_DESCRIPTORS


FERTILE = """
import os, sys
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        break
else:
    print("born", flush=True)
os.read(0, 1)
"""
"""Its standard input holds all of them: they end with the test, however that ends."""


def test_a_list_of_children_is_read_to_its_end() -> None:
    """The kernel gives 4 KiB of it at a time: the children of the 700th could pass for an operator's."""
    argv = [sys.executable, "-S", "-c", FERTILE, "750"]
    parent = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)
    try:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"born\n"
        assert len(set(lineages._children(parent.pid))) == 750
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        parent.communicate()


async def test_an_operator_at_the_descriptor_limit_is_told_that_the_daemon_is_busy(live: Live) -> None:
    """He was denied, as one whose lineage nobody knows."""
    client = socket.socket(socket.AF_UNIX)
    client.connect(os.fspath(live.socket))
    # The server is on this very loop: it accepts with the one descriptor that is left, and cannot look.
    client.setblocking(False)
    with client, free_descriptors(1):
        received = b""
        async with asyncio.timeout(60):
            while chunk := await asyncio.get_running_loop().sock_recv(client, 65536):
                received += chunk
    answer = parse(received)

    assert (answer.status, answer.json["code"]) == (503, "busy")
    assert "descriptors" in answer.json["detail"]
    assert answer.json["remedy"]
    assert (await live.ask("GET", "/healthz")).status == 200


REMEDIES = {
    Lack.GONE: "stays until it is answered",
    Lack.INVISIBLE: "remount,gid=",
    Lack.WITHIN_REACH: "terminal of your own",
}


@pytest.mark.parametrize("lack", list(Lack))
def test_each_kind_of_not_knowing_has_a_remedy_of_its_own(lack: Lack) -> None:
    door, peer = Doorkeeper({"good": "docs"}.get), Peer(1, 0, frozenset({0}), None, "why", lack)
    assert door.caller(peer, "Bearer good").agent == "docs", "a token tells who asks, whatever else is unknown"
    if lack is Lack.NO_DESCRIPTORS:
        with pytest.raises(Problem) as refused:
            door.caller(peer, None)
        assert (refused.value.code, refused.value.http_status) == ("busy", 503)
        return
    caller = door.caller(peer, None)
    assert (caller.role, caller.why) == (Role.NOBODY, "why")
    assert REMEDIES[lack] in caller.remedy


def test_a_stranger_is_told_whose_rights_are_needed() -> None:
    assert "daemon's user" in Caller(Role.NOBODY, 1, 2, "it is a stranger").remedy


async def opened(live: Live, request: bytes, count: int) -> list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    pairs = [await asyncio.open_unix_connection(os.fspath(live.socket)) for _ in range(count)]
    for _, writer in pairs:
        writer.write(request)
    return pairs


def sockets_of(live: Live) -> int:
    """Sockets of this process that were accepted on the control socket."""
    inodes = {
        line.split()[6]
        for line in Path("/proc/net/unix").read_text().splitlines()
        if line.endswith(os.fspath(live.socket))
    }
    links = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _exists(fd)]
    return sum(link.startswith("socket:[") and link[8:-1] in inodes for link in links)


def _exists(descriptor: str) -> bool:
    return os.path.islink(f"/proc/self/fd/{descriptor}")


async def test_followers_and_waiters_leave_places_for_whoever_stops_an_agent(live: Live, daemon: FakeDaemon) -> None:
    """256 event streams locked `stop` out."""
    daemon.declare("docs")
    await daemon.order(StartRequested("docs", False, "test"))
    followers = await opened(live, FOLLOW, STREAMS + MORE)
    told = [await asyncio.wait_for(reader.readline(), 60) for reader, _ in followers]
    waiters = await opened(live, WAIT, WAITS + MORE)
    hearing = [asyncio.create_task(reader.readuntil(b"}\n")) for reader, _ in waiters]
    places = live.api.places.taken
    await eventually(lambda: sum(task.done() for task in hearing) == MORE, 60, "some are put off")
    assert (places["stream"], places["wait"]) == (STREAMS, WAITS)

    stopped = parse(await live.raw(STOP, 60))

    assert stopped.status in (200, 202)
    assert sorted(line.split()[1] for line in told) == [b"200"] * STREAMS + [b"503"] * MORE
    put_off = [await task for task in hearing]
    assert sum(b" 503 " in answer and b"wait for an agent" in answer for answer in put_off) == MORE
    for _, writer in [*followers, *waiters]:
        writer.close()
    await eventually(lambda: (places["stream"], places["wait"]) == (0, 0), 60, "every place is given back")
    ((reader, writer),) = await opened(live, FOLLOW, 1)
    assert b" 200 " in await asyncio.wait_for(reader.readline(), 60)
    writer.close()


async def test_a_closing_connection_is_never_counted_as_room(daemon: FakeDaemon, runtime: Path) -> None:
    """Connections in one burst took the same idle one for their room, and 256 bounded nothing."""
    most = 0

    async with serving(daemon, runtime, header_timeout=100) as live:
        clients = []
        for _ in range(OPERATORS + 200):
            client = socket.socket(socket.AF_UNIX)
            client.setblocking(False)
            while True:
                try:
                    client.connect(os.fspath(live.socket))
                    break
                except BlockingIOError:  # The queue is full: let the server in, which is on this very loop.
                    most = max(most, sockets_of(live))
                    await asyncio.sleep(0)
            clients.append(client)
        await eventually(lambda: len(live.server.server_state.connections) <= OPERATORS, 60)
        answer = await live.ask("GET", "/healthz")
        for client in clients:
            client.close()

    assert most <= OPERATORS + 4 * AT_ONCE < AGENTS + OPERATORS
    assert answer.status == 200


async def test_who_has_not_finished_asking_gives_way(daemon: FakeDaemon, runtime: Path) -> None:
    """A body that does not come is nothing under way."""
    daemon.declare("docs")
    async with serving(daemon, runtime, header_timeout=100, body_timeout=100) as live:
        half = await opened(
            live, b"POST /v1/agents/docs/stop HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{", OPERATORS
        )
        await eventually(lambda: len(live.server.server_state.tasks) == OPERATORS, 60, "each has told its head")

        assert parse(await live.raw(STOP, 60)).status in (200, 202)
        for _, writer in half:
            writer.close()


@pytest.mark.parametrize(
    ("fault", "answer"),
    [(OSError(errno.EMFILE, "Too many open files"), 503), (OSError(errno.EIO, "I/O"), 500), (KeyError("docs"), 500)],
)
async def test_promise_10_a_look_that_fails_is_answered_and_leaves_no_connection_open(
    live: Live, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, fault: Exception, answer: int
) -> None:
    """The shims are looked up for each who connects, and of those without a link the process table is asked."""

    def fail() -> dict[int, str]:
        raise fault

    monkeypatch.setattr(daemon, "shim_pids", fail)
    # Refused before anything was asked: a client that says nothing is told as well.
    found = parse(await live.raw(b""))
    assert found.status == answer
    await eventually(lambda: not live.server.server_state.connections, what="nothing stays open")
    monkeypatch.undo()
    assert (await live.ask("GET", "/healthz")).status == 200


HEADLESS = """
import ctypes, os, socket, sys, threading
def ask():
    line = socket.socket(socket.AF_UNIX)
    line.connect(sys.argv[1])
    line.recv(1)
    os._exit(0)
threading.Thread(target=ask).start()
ctypes.CDLL(None).syscall(60, 0)
"""
"""Its first thread ends (exit, on x86-64) and the second one asks: the kernel shows the environment of the first."""


def test_of_those_above_a_caller_the_environment_is_read_once_and_its_own_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mark is found all the same below ancestors that are known to bear none."""
    read: list[tuple[int, str]] = []

    def counted(pid: int, name: str, limit: int = 0) -> bytes:
        read.append((pid, name))
        return proc.read_bytes(pid, name, limit)

    monkeypatch.setattr(marks, "read_bytes", counted)
    agents = str(tmp_path / "agents")
    line = [sys.executable, "-S", "-c", "import sys; print('here', flush=True); sys.stdin.read()"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(line, **pipes) as plain:
        # Between the start of a program and its first step the kernel shows no environment of it.
        assert plain.stdout.readline()
        assert agent_by_mark(plain.pid, agents, {}) is None
        assert (os.getpid(), "environ") in read
        read.clear()
        assert agent_by_mark(plain.pid, agents, {}) is None
        # What another user runs above them may not be read, and is tried each time.
        assert (plain.pid, "environ") in read
        assert (os.getpid(), "environ") not in read
    with subprocess.Popen(line, **pipes, env={"PHOENIX_STATE_DIR": f"{agents}/docs"}) as marked:
        assert marked.stdout.readline()
        assert agent_by_mark(marked.pid, agents, {}) == "docs"
    read.clear()
    assert agent_by_mark(os.getpid(), str(tmp_path / "others"), {}) is None
    assert (os.getpid(), "environ") in read


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the number of a system call")
def test_who_is_on_its_way_out_and_shows_no_mark_any_more_is_no_operator(tmp_path: Path) -> None:
    """A process gives back its memory, and with it the mark of its run, before anything tells that it ends."""
    agents = tmp_path / "agents"
    environ = {**os.environ, "PHOENIX_STATE_DIR": str(agents / "docs")}
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(tmp_path / "api.sock"))
        door.listen()
        asking = subprocess.Popen([sys.executable, "-c", HEADLESS, str(tmp_path / "api.sock")], env=environ)
        connection, _ = door.accept()
        with asking, connection:
            eventually_sync(lambda: proc.is_ending(asking.pid), 60, "its first thread has ended")
            found = identify(connection, {}, None, str(agents))
            connection.close()

    assert (found.agent, found.lack) == (None, Lack.GONE)
    assert Doorkeeper(lambda token: None).caller(found, None).role is Role.NOBODY


def test_who_has_ended_is_no_operator_either_where_the_kernel_has_no_pidfd_of_a_peer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux before 6.5, which Debian 12 has: it ends between the look at its parents and the one at its mark."""
    script = "import socket, sys; line = socket.socket(socket.AF_UNIX); line.connect(sys.argv[1]); line.recv(1)"
    environ = {**os.environ, "PHOENIX_STATE_DIR": str(tmp_path / "agents/docs")}
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(tmp_path / "api.sock"))
        door.listen()
        asking = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "api.sock")], env=environ)
        connection, _ = door.accept()

        def ends(*given: Any) -> lineages.Lineage:
            found = lineage(*given)
            asking.kill()
            asking.wait()
            return found

        monkeypatch.setattr(peers, "_pidfd", lambda connection: None)
        monkeypatch.setattr(peers, "lineage", ends)
        with asking, connection:
            found = identify(connection, {}, None, str(tmp_path / "agents"))

    assert found.lack is Lack.GONE
    assert Doorkeeper(lambda token: None).caller(found, None).role is Role.NOBODY
