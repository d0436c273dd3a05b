"""F-SY-13 and promise 7: whatever is sent, nobody else is kept waiting, nothing falls over, and memory stays flat."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import random
import resource
import socket
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phoenixd.api import connection as connections
from phoenixd.api import server
from phoenixd.api.application import Api
from phoenixd.api.connection import Connection
from phoenixd.api.operations import served
from phoenixd.api.peers import Peer
from phoenixd.api.places import EACH_AGENT, OPERATORS
from phoenixd.api.rights import Doorkeeper
from phoenixd.api.server import ControlServer, serve
from tests.api.conftest import Live, exchange, serving
from tests.api.daemon import FakeDaemon
from tests.waiting import eventually

CACHED = 2_000
"""Requests after which what is cached is cached."""
FLAT = 24 * 1024
"""KiB that the process may grow by while it is flooded: caches and allocator, not a leak for each request."""
PIECES = (
    b"GET ", b"POST ", b"DELETE ", b"/v1/agents", b"/v1/agents/docs/send", b"/v1/events", b" HTTP/1.1\r\n",
    b" HTTP/1.0\r\n", b" HTTP/9.9\r\n", b"host: x\r\n", b"host: [\r\n", b"content-length: 5\r\n",
    b"content-length: -1\r\n", b"content-length: 99999999999999999999\r\n",
    b"content-length: 5\r\ncontent-length: 6\r\n", b"transfer-encoding: chunked\r\n", b"\r\n", b"5\r\nhello\r\n",
    b"0\r\n\r\n", b"ffffffffffffffff\r\n", b"\0", b"\xff\xfe", b"{}", b'{"text": "x"}', b"[" * 500,
    b"accept: text/plain\r\n", b"accept: text/event-stream\r\n", b"?width=0", b"?%ff=%",
    b"?lines=99999999999999999999", b"?" + b"a=b&" * 50, b"x" * 5000, b"authorization: Bearer x\r\n",
    b"upgrade: websocket\r\n", b"connection: upgrade\r\n", b"expect: 100-continue\r\n", b"last-event-id: -1\r\n",
    b"idempotency-key: \t\r\n", b"\r", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00\x01",
    b"/../../etc/passwd", b"/v1/agents/" + b"%2e" * 40,
)  # fmt: skip
TARGETS = [f"{one.method} {one.path}" for one in served() if one.name not in ("down", "wait_agent")]


def malformed(dice: random.Random) -> bytes:
    """Bytes that are nearly HTTP: pieces in any order, or a good request with a few bytes changed, cut or doubled."""
    if dice.random() < 0.4:
        return b"".join(dice.choice(PIECES) for _ in range(dice.randint(1, 12)))
    request = bytearray(
        f"{dice.choice(TARGETS)} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}".encode()
    )
    for _ in range(dice.randint(1, 6)):
        place = dice.randrange(len(request))
        match dice.randrange(4):
            case 0:
                request[place] = dice.randrange(256)
            case 1:
                del request[place : place + dice.randint(1, 20)]
                request += b" "
            case 2:
                request[place:place] = dice.choice(PIECES)
            case _:
                request[place:place] = request[place : place + dice.randint(1, 30)]
    return bytes(request)


def send_and_leave(path: Path, sent: bytes, patient: bool) -> None:
    """A client that speaks and goes, or that waits for what is said to it."""
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as connection:
        connection.connect(os.fspath(path))  # Blocking, so that it waits for a place in a full backlog.
        connection.settimeout(60)
        with contextlib.suppress(ConnectionError):
            connection.sendall(sent)
            if patient:
                connection.shutdown(socket.SHUT_WR)
                while chunk := connection.recv(65536):
                    assert b"Traceback" not in chunk


def resident() -> int:
    """Resident memory of this process in KiB."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024


async def flood(live: Live, requests: list[bytes], dice: random.Random) -> None:
    """Send them from a few threads, while a well-behaved client asks on and on and is always answered."""
    queue = list(requests)

    def worker() -> None:
        while True:
            try:
                request = queue.pop()
            except IndexError:
                return
            send_and_leave(live.socket, request, dice.random() < 0.3)

    workers = asyncio.gather(*(asyncio.to_thread(worker) for _ in range(3)))
    while not workers.done():
        assert (await live.ask("GET", "/healthz")).json == {"ok": True}
    await workers


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", [4_000, pytest.param(18_000, marks=pytest.mark.proof)])
async def test_thousands_of_malformed_requests_block_nobody_and_leave_nothing(
    live: Live, daemon: FakeDaemon, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    daemon.declare("docs")
    dice = random.Random(20261121)
    await flood(live, [malformed(dice) for _ in range(CACHED)], dice)
    daemon.orders.clear()
    before, rows, accepted = resident(), len(daemon.journal.rows), next(Connection.serials)

    await flood(live, [malformed(dice) for _ in range(number)], dice)

    await eventually(lambda: not live.server.server_state.tasks, 20, "every request has ended")
    daemon.journal.rows[rows:] = []
    assert resident() - before < FLAT
    assert next(Connection.serials) - accepted > number, "every one of them was accepted"
    assert (await live.ask("GET", "/v1/agents")).status == 200
    assert [record.getMessage() for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")] == []


@settings(
    max_examples=3 * settings().max_examples, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    operation=st.sampled_from([one for one in served() if one.name not in ("down", "wait_agent", "list_events")]),
    query=st.dictionaries(
        st.sampled_from(["width", "all", "time", "lines", "fish", "agent", "form"]), st.text(max_size=20)
    ),
    body=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["name", "argv", "env", "text", "timeout", "fresh", "age", "x"]), inner, max_size=5
            )
        ),
        max_leaves=12,
    ),
    name=st.sampled_from(["docs", "nobody", "x" * 40, "\u202e", "..", "a%00"]),
)
def test_any_json_is_answered_or_refused_in_form(operation: Any, query: dict[str, str], body: Any, name: str) -> None:
    """Values of every type in every place: an answer or a problem, never a failure of ours."""
    import json
    import tempfile
    from urllib.parse import quote, urlencode

    async def once() -> None:
        daemon = FakeDaemon()
        daemon.declare("docs")
        with tempfile.TemporaryDirectory(prefix="phx") as directory:
            async with serving(daemon, Path(directory)) as live:
                path = operation.path.replace("{name}", quote(name)) + "?" + urlencode(query, errors="surrogatepass")
                raw = json.dumps(body).encode() if operation.method != "GET" else b""
                if isinstance(body, dict):
                    raw = json.dumps({**body, "wait": False}).encode()
                answer = await live.ask(operation.method, path, raw)
                assert answer.status < 500, (operation.name, query, body, answer.text)
                assert answer.status < 300 or answer.json["detail"]

    asyncio.run(once())


@contextlib.asynccontextmanager
async def connected(live: Live, count: int) -> AsyncIterator[list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]:
    opened = [await asyncio.open_unix_connection(os.fspath(live.socket)) for _ in range(count)]
    try:
        yield opened
    finally:
        for _, writer in opened:
            writer.close()


async def test_who_says_nothing_or_says_it_too_slowly_is_sent_away(daemon: FakeDaemon, runtime: Path) -> None:
    """F-SY-13."""
    async with serving(daemon, runtime, header_timeout=0.1) as live, connected(live, 3) as opened:
        opened[1][1].write(b"GET /healthz HT")
        opened[2][1].write(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        async with asyncio.timeout(10):
            assert await opened[0][0].read() == b""
            assert await opened[1][0].read() == b""
            assert await opened[2][0].readline() == b"HTTP/1.1 200 OK\r\n"


async def test_a_body_that_does_not_come_is_not_waited_for(daemon: FakeDaemon, runtime: Path) -> None:
    async with serving(daemon, runtime, body_timeout=0.1) as live:
        answer = await asyncio.to_thread(
            exchange, live.socket, b"POST /v1/agents HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"
        )
    assert b" 408 " in answer.split(b"\r\n")[0]
    assert b'"code": "timed_out"' in answer


async def test_who_does_not_read_is_cut_off(daemon: FakeDaemon, runtime: Path) -> None:
    daemon.panes["docs"] = "x" * 4_000_000
    daemon.declare("docs")
    async with serving(daemon, runtime, write_timeout=0.2) as live:
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as connection:
            connection.connect(os.fspath(live.socket))
            connection.sendall(b"GET /v1/agents/docs/pane HTTP/1.1\r\nhost: x\r\n\r\n")
            await eventually(lambda: live.server.server_state.connections, what="it is connected")
            await eventually(lambda: not live.server.server_state.connections, what="it is cut off")
    assert daemon.state.agents["docs"].run is not None


async def test_an_agent_cannot_use_up_the_connections_of_the_others(live: Live, daemon: FakeDaemon) -> None:
    """Its process tree is this very process, so that all connections are its own until it is let go."""
    daemon.shims = {os.getpid(): "docs"}
    async with connected(live, EACH_AGENT) as opened:
        await eventually(lambda: len(live.server.server_state.connections) == len(opened))
        refused = await live.ask("GET", "/healthz")
        daemon.shims = {}
        operator = await live.ask("GET", "/healthz")

    assert (refused.status, refused.json["code"]) == (503, "busy")
    assert operator.status == 200


QUESTION = b"GET /v1/agents/docs HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"


async def test_an_agent_that_asks_without_end_is_put_off_and_an_operator_is_not(live: Live, daemon: FakeDaemon) -> None:
    daemon.shims = {os.getpid(): "docs"}
    answers = [await live.raw(QUESTION) for _ in range(80)]
    taken = [answer for answer in answers if b" 404 " in answer]
    assert 10 < len(taken) < 60, "a connection and a request are two tokens of sixty"
    assert all(b" 503 " in answer or not answer for answer in answers if answer not in taken)
    daemon.shims = {}
    assert (await live.ask("GET", "/healthz")).status == 200


@pytest.mark.parametrize("put", ["nothing", "a file", "another's socket", "a directory", "a link to a directory"])
async def test_a_socket_that_somebody_took_away_is_made_again(daemon: FakeDaemon, runtime: Path, put: str) -> None:
    path, servers = runtime / "api.sock", list[ControlServer]()
    api = Api(daemon, Doorkeeper(daemon.agent_of_token))
    task = asyncio.create_task(
        serve(
            api,
            server.bind(path),
            servers.append,
            bind_again=lambda: server.bind(path),
            rest=partial(asyncio.sleep, 0.05),
        )
    )
    await eventually(lambda: servers and servers[0].started)
    (before,) = servers[0].servers
    path.unlink()
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as impostor:
        if put == "a file":
            path.write_text("mine")
        elif put == "another's socket":
            impostor.bind(os.fspath(path))
            impostor.listen()
        elif put == "a directory":
            path.mkdir()
            (path / "kept").touch()
        elif put == "a link to a directory":
            path.symlink_to(runtime)
        await eventually(lambda: before not in servers[0].servers, what="it listens anew")
    assert [file.name for file in runtime.rglob("kept")] == (["kept"] if put == "a directory" else [])
    assert (await Live(daemon, path, servers[0], api).ask("GET", "/healthz")).status == 200
    servers[0].end()
    await task


async def test_callers_of_unknown_lineage_cannot_use_up_the_connections_of_the_others(
    live: Live, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may be an agent's, gone before anybody could look where they came from."""
    stranger = Peer(1, os.getuid(), frozenset(), None, "it ended")
    monkeypatch.setattr(connections, "identify", lambda *_: stranger)
    async with connected(live, EACH_AGENT) as opened:
        await eventually(lambda: len(live.server.server_state.connections) == len(opened))
        assert (await live.ask("GET", "/healthz")).status == 503
        monkeypatch.undo()
        assert (await live.ask("GET", "/healthz")).status == 200


async def test_idle_connections_give_way_when_there_are_too_many(daemon: FakeDaemon, runtime: Path) -> None:
    async with serving(daemon, runtime, header_timeout=100) as live, connected(live, OPERATORS) as opened:
        await eventually(lambda: len(live.server.server_state.connections) == OPERATORS)

        assert (await live.ask("GET", "/healthz")).status == 200
        async with asyncio.timeout(10):
            with contextlib.suppress(ConnectionError):
                assert await opened[0][0].read() == b"", "the longest idle one was closed"


async def test_an_idle_server_sleeps(live: Live) -> None:
    """uvicorn's own loop wakes ten times a second; ours has no timer at all while nobody is connected."""
    loop = asyncio.get_running_loop()
    await live.ask("GET", "/healthz")
    await eventually(lambda: not live.server.server_state.connections)

    timers = [handle for handle in loop._scheduled if not handle.cancelled()]  # type: ignore[attr-defined]

    assert [handle for handle in timers if handle.when() < loop.time() + 60] == []


async def test_what_is_not_http_is_told_so_in_form(live: Live, caplog: pytest.LogCaptureFixture) -> None:
    """Also in the middle of an answer, where nothing can be said any more."""
    for sent in (b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n bad\r\n\r\n", b"\xff\xfe\r\n\r\n"):
        head, _, body = (await live.raw(sent)).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"application/problem+json" in head
        assert b'"code": "invalid"' in body
    live.daemon.declare("docs")
    chunked = b"POST /v1/agents/docs/stop HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nnot a size\r\n"
    assert await live.raw(chunked) == b""
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
