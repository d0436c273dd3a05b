"""Promise 10: a client without the token silences no hook, a large body stops no order, and refusals are told."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.shim.pane import DEADLINE, TOKEN, Daemon, Pane
from tests.shim.posting import Poster, exchange
from tests.shim.test_hooks import peak, port_of, request, resident, statuses

HALF = b"POST /hook/stop HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture
def running(daemon: Daemon) -> Daemon:
    daemon.start(["sleep", "1000"])
    return daemon


def connected(pane: Pane, port: int | None) -> socket.socket:
    if port is not None:
        return socket.create_connection(("127.0.0.1", port), DEADLINE)
    line = socket.socket(socket.AF_UNIX)
    line.settimeout(DEADLINE)
    line.connect(str(pane.run / "hook.sock"))
    return line


@contextlib.contextmanager
def besieged(pane: Pane, port: int | None, said: bytes) -> Iterator[None]:
    """Forty who say this much and no more, and come again whenever they are turned away."""
    over = threading.Event()

    def press() -> None:
        while not over.is_set():
            with contextlib.suppress(OSError), connected(pane, port) as line:
                line.settimeout(0.2)
                line.sendall(said)
                while not over.is_set():
                    with contextlib.suppress(TimeoutError):
                        if not line.recv(1024):
                            break

    crowd = [threading.Thread(target=press) for _ in range(40)]
    for one in crowd:
        one.start()
    try:
        yield
    finally:
        over.set()
        for one in crowd:
            one.join()


@pytest.mark.parametrize("over", ["loopback", "hook.sock"])
@pytest.mark.parametrize("said", [HALF, pytest.param(b"", marks=pytest.mark.slow)], ids=["half a request", "nothing"])
def test_promise_10_forty_without_a_token_silence_no_hook(running: Daemon, over: str, said: bytes) -> None:
    """Once not one of 128 genuine posts passed."""
    port, posts = (port_of(running) if over == "loopback" else None), (128 if said else 4)
    with besieged(running.pane, port, said):
        for number in range(posts):
            with Poster(running.pane, port) as poster:
                assert poster.post("notification", {"message": str(number)}) == 200
    for number in range(posts):
        event = running.expect("hook")
        assert event["payload"]["message"] == str(number)
    told = running.expect("refused")
    assert (told["hooks"], told["incarnation"]) == (0, 1)
    assert told["strangers"] > 0


CROWD = """
import socket, sys
import encodings.idna
import os
os.setuid(65534)
crowd = []
for _ in range(40):
    line = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    line.sendall(b"POST /hook/stop HTTP/1.1\\r\\nHost: x\\r\\n")
    crowd.append(line)
print("there", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="not run: another user's connections need root")
def test_promise_10_another_users_half_requests_take_no_place_of_ours(running: Daemon) -> None:
    stranger = subprocess.Popen(
        [sys.executable, "-c", CROWD, str(port_of(running))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == "there\n"
        ours = [socket.create_connection(("127.0.0.1", port_of(running)), DEADLINE) for _ in range(4)]
        for line in ours:
            line.sendall(request(running))
            assert line.recv(1024).startswith(b"HTTP/1.1 200 "), "connected first, and spoke later than the crowd came"
            line.close()
    finally:
        stranger.communicate("")


def test_promise_10_hooks_that_are_refused_are_counted_and_told(running: Daemon) -> None:
    port = port_of(running)
    assert statuses(exchange(port, request(running, b"{"))) == [400]
    assert statuses(exchange(port, request(running, b"", Content_Length=str(16 * 1024 * 1024 + 1)))) == [413]
    assert statuses(exchange(port, request(running, Authorization="Bearer wrong"))) == [403]
    assert statuses(exchange(port, request(running, path="/hook/nonsense"))) == [404]
    told = running.expect("refused", lambda event: event["strangers"] == 1)
    assert (told["hooks"], told["why"], told["run_id"]) == (2, "413 Content Too Large", running.events[1]["run_id"])
    running.close()
    back = running.pane.daemon()
    assert back.expect("refused")["hooks"] == 2, "a daemon that comes back is told the sums"


HOSTILE = {
    "brackets": b"[" + b"[]," * 5_500_000 + b"[]]",
    "numbers": b"[" + b"0," * 8_200_000 + b"0]",
    "objects": b"[" + b'{"a":0},' * 2_000_000 + b"0]",
    "escapes": b'"' + b"\\n" * 8_200_000 + b'"',
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "by"), [("brackets", "http"), ("objects", "http"), ("escapes", "http"), ("numbers", "program")]
)
def test_promise_10_a_body_of_sixteen_mebibytes_is_never_built_and_keeps_no_order_waiting(
    running: Daemon, what: str, by: str
) -> None:
    """Once it cost the shim 459 MiB, and nine seconds without an order."""
    body = b'{"tool_name":"Read","tool_response":' + HOSTILE[what] + b',"tool_input":{"timeout":7}}'
    assert 15 << 20 < len(body) < 16 << 20
    before = peak(running.pane.pid)
    done: list[Any] = []
    if by == "http":
        raw = request(running, body, path="/hook/tool-end")

        def post() -> None:
            done.append(statuses(exchange(port_of(running), raw)))

        poster = threading.Thread(target=post)
        poster.start()
    else:
        name = "1.4711.json"
        (running.pane.run / "hooks" / name).write_bytes(body)
        with (running.pane.run / "hook.fifo").open("wb") as fifo:
            fifo.write(f"tool-end {name}\n".encode())
    for _ in range(5):
        assert running.hello()["run"] is not None
    if by == "http":
        poster.join()
    if all(event["event"] != "hook" for event in running.events):
        running.expect("hook")
    event = next(event for event in running.events if event["event"] == "hook")
    assert event["payload"] == {"tool_name": "Read", "tool_input": {"timeout": 7}}
    assert peak(running.pane.pid) - before < 8 * 1024


def test_promise_10_what_counts_of_a_large_input_arrives_wherever_it_stands(running: Daemon) -> None:
    """A file that is written, a pasted prompt, the list of what goes on: none is lost for its size."""
    filler = {"tool_response": {"content": "y" * 3_000_000, "more": [{"x": '\\"'}] * 1000}}
    said: list[tuple[str, dict[str, Any]]] = [
        ("tool-start", {**filler, "tool_name": "Write", "tool_input": {"content": "z" * 2_000_000, "timeout": 9}}),
        ("prompt-submit", {**filler, "prompt": "p" * 700_000}),
        ("stop", {**filler, "background_tasks": [{"type": "shell", "command": "make"}], "stop_hook_active": True}),
    ]
    with Poster(running.pane, port_of(running)) as poster:
        for kind, hook_input in said:
            assert poster.post(kind, {**hook_input, "session_id": "s"}) == 200
    started, prompt, stop = (running.expect("hook") for _ in said)
    assert started["payload"] == {"session_id": "s", "tool_name": "Write", "tool_input": {"timeout": 9}}
    assert (prompt["payload"]["prompt"], prompt["payload"]["prompt_bytes"]) == ("p" * 8192, 700_000)
    assert stop["payload"]["jobs"] == ["shell: make"]
    assert stop["payload"]["stop_hook_active"] is True
    assert json.dumps(TOKEN) not in json.dumps(running.events)
    assert resident(running.pane.pid) < 64 * 1024
