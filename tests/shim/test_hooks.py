"""The hook endpoint: answers at once, keeps what counts, and whatever else is thrown at it changes nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.shim.pane import DEADLINE, TOKEN, Daemon, Event, is_running
from tests.shim.posting import Poster, exchange
from tests.waiting import eventually_sync


@pytest.fixture
def running(daemon: Daemon) -> Daemon:
    """A daemon whose agent lives."""
    daemon.start(["sleep", "1000"])
    return daemon


def port_of(daemon: Daemon) -> int:
    port: int = daemon.events[0]["hook_port"]
    return port


def request(daemon: Daemon, body: bytes = b"{}", path: str = "/hook/stop", **headers: str) -> bytes:
    fields = {"Host": f"127.0.0.1:{port_of(daemon)}", "Authorization": f"Bearer {TOKEN}"}
    fields["Content-Length"] = str(len(body))
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def statuses(answer: bytes) -> list[int]:
    return [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]


CLAUDE_EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt-submit",
    "PreToolUse": "tool-start",
    "PostToolUse": "tool-end",
    "PostToolUseFailure": "tool-failure",
    "Stop": "stop",
    "StopFailure": "stop-failure",
    "Notification": "notification",
    "PermissionRequest": "permission-request",
    "PermissionDenied": "permission-denied",
    "SubagentStart": "subagent-start",
    "SubagentStop": "subagent-stop",
    "PreCompact": "pre-compact",
    "PostCompact": "compacted",
    "SessionEnd": "session-end",
}
EVIDENCE = {"tool-start", "tool-end", "tool-failure", "subagent-start", "subagent-stop"}


@pytest.mark.parametrize("over", ["loopback", "hook.sock"])
@pytest.mark.parametrize("named", ["by Claude's name in the body", "by kind in the path"])
def test_every_event_arrives_under_its_kind(running: Daemon, over: str, named: str) -> None:
    with Poster(running.pane, port_of(running) if over == "loopback" else None) as poster:
        for name, kind in CLAUDE_EVENTS.items():
            if named.startswith("by Claude"):
                assert poster.post(None, {"hook_event_name": name, "session_id": "s"}) == 200
            else:
                assert poster.post(kind, {"session_id": "s"}) == 200
            event = running.expect("hook")
            assert (event["kind"], event["payload"]["session_id"]) == (kind, "s")
            assert (event["seq"] == 0) == (kind in EVIDENCE)
            assert event["run_id"] == running.events[1]["run_id"]


def test_an_event_that_nobody_knows_is_answered_and_left_alone(running: Daemon) -> None:
    with Poster(running.pane, port_of(running)) as poster:
        assert poster.post(None, {"hook_event_name": "InventedTomorrow"}) == 200
    assert running.is_silent()


def test_only_the_token_of_the_living_run_is_taken(daemon: Daemon) -> None:
    with Poster(daemon.pane, port_of(daemon)) as poster:
        assert poster.post("stop", {}) == 403
    started = daemon.start(["sleep", "1000"])
    for token in ("", "wrong", TOKEN[:-1], TOKEN + "0", TOKEN.upper()):
        with Poster(daemon.pane, port_of(daemon)) as poster:
            assert poster.post("stop", {}, token) == 403
    daemon.kill(started)
    with Poster(daemon.pane, port_of(daemon)) as poster:
        assert poster.post("stop", {}) == 403
    daemon.start(["sleep", "1000"], token="f" * 32)
    with Poster(daemon.pane, port_of(daemon)) as poster:
        assert poster.post("stop", {}) == 403
    with Poster(daemon.pane, port_of(daemon)) as poster:
        assert poster.post("stop", {}, "f" * 32) == 200
    assert daemon.expect("hook")["incarnation"] == 2


def test_a_web_page_that_rebinds_its_name_is_refused(running: Daemon) -> None:
    port = port_of(running)
    for host, status in [
        (f"127.0.0.1:{port}", 200),
        (f"localhost:{port}", 200),
        (f"evil.example:{port}", 403),
        ("127.0.0.1", 403),
        (f"127.0.0.1:{port + 1}", 403),
    ]:
        with Poster(running.pane, port) as poster:
            assert poster.post("stop", {}, host=host) == status


def test_requests_arrive_in_one_piece_in_many_and_in_a_row(running: Daemon) -> None:
    pipelined = b"".join(request(running, json.dumps({"session_id": str(n)}).encode()) for n in range(20))
    with socket.create_connection(("127.0.0.1", port_of(running)), DEADLINE) as connection:
        connection.sendall(pipelined[:-1])
        for n in range(19):
            assert running.expect("hook")["payload"]["session_id"] == str(n)
        connection.sendall(pipelined[-1:])
        assert running.expect("hook")["payload"]["session_id"] == "19"
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in request(running, b'{"session_id":"bytewise"}'):
            connection.sendall(bytes([byte]))
        assert running.expect("hook")["payload"]["session_id"] == "bytewise"
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert statuses(answer) == [200] * 21


def test_a_client_that_asks_first_is_told_to_go_on(running: Daemon) -> None:
    """curl does so for larger bodies."""
    whole = request(running, b"{}" + b" " * 5000, Expect="100-continue")
    head, body = whole[:-5002], whole[-5002:]
    with socket.create_connection(("127.0.0.1", port_of(running)), DEADLINE) as connection:
        connection.sendall(head)
        assert connection.recv(65536).startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_a_client_that_closes_its_side_at_once_is_still_answered(running: Daemon) -> None:
    port, whole = port_of(running), request(running) * 2
    for _ in range(50):
        assert statuses(exchange(port, whole)) == [200, 200]


MALFORMED: list[tuple[str, int, dict[str, str], bytes]] = [
    ("not JSON", 400, {}, b"{"),
    ("not an object", 400, {}, b"[]"),
    ("not UTF-8", 400, {}, b'{"a":"\xff"}'),
    ("deep", 400, {}, b"[" * 100_000),
    ("a number too long to read", 400, {}, b'{"a":' + b"9" * 10_000 + b"}"),
    ("no name", 400, {"path": "/hook"}, b"{}"),
    ("a name that is none", 400, {"path": "/hook"}, b'{"hook_event_name": 1}'),
    ("unknown kind", 404, {"path": "/hook/nonsense"}, b"{}"),
    ("unknown path", 404, {"path": "/"}, b"{}"),
    ("no Host", 400, {"Host": ""}, b"{}"),
    ("chunked", 411, {"Transfer_Encoding": "chunked"}, b"0\r\n\r\n"),
    ("length with a sign", 400, {"Content_Length": "+2"}, b"{}"),
    ("length in other digits", 400, {"Content_Length": "²"}, b"{}"),
    ("too long", 413, {"Content_Length": str(16 * 1024 * 1024 + 1)}, b""),
    ("far too long", 413, {"Content_Length": "9" * 4000}, b""),
    ("endless header", 431, {"X": "y" * 20_000}, b"{}"),
]


@pytest.mark.parametrize(
    ("status", "changes", "body"), [row[1:] for row in MALFORMED], ids=[row[0] for row in MALFORMED]
)
def test_the_malformed_is_refused_and_nothing_else_happens(
    running: Daemon, status: int, changes: dict[str, str], body: bytes
) -> None:
    raw = request(running, body, **changes) if body else request(running, b"", **changes)
    assert statuses(exchange(port_of(running), raw)) == [status]
    assert running.is_silent()
    assert not (running.pane.state / "heartbeat.json").exists()


@pytest.mark.parametrize(
    "raw",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"POST /hook/stop HTTP/2.0\r\n\r\n",
        b"POST /hook/stop HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST /hook/stop HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /hook/stop HTTP/1.1\nHost: a\n\n",
        b"POST /hook/stop HTTP/1.1\r\nHost : a\r\n\r\n",
        b"POST /hook/stop HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n",
        b"POST /hook/\0 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST  /hook/stop HTTP/1.1\r\nHost: a\r\n\r\n",
        b"P\xffST /hook/stop HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n",
    ],
)
def test_what_is_no_http_is_refused(running: Daemon, raw: bytes) -> None:
    assert statuses(exchange(port_of(running), raw)) == [400]
    assert running.is_silent()


def test_a_reader_of_other_methods_gets_a_405(running: Daemon) -> None:
    assert statuses(exchange(port_of(running), request(running).replace(b"POST", b"GET", 1))) == [405]


def test_two_thousand_mutilated_requests_do_no_harm(running: Daemon) -> None:
    """Seeded, so that a failure comes again: swapped, cut, doubled and overwritten pieces of a good request."""
    good = request(running, b'{"hook_event_name":"Stop","session_id":"s","tool_input":{"timeout":1}}', "/hook")
    dice = random.Random(2611)
    port = port_of(running)
    for _ in range(2000):
        mutilated = bytearray(good)
        for _ in range(dice.randrange(1, 6)):
            at = dice.randrange(len(mutilated) + 1)
            what = dice.randrange(5)
            if what == 0:
                mutilated[at : at + 1] = bytes([dice.randrange(256)])
            elif what == 1:
                del mutilated[at : at + dice.randrange(40)]
            elif what == 2:
                mutilated[at:at] = dice.choice([b"\r\n", b"\r\n\r\n", b"\n", b"\0", b"{", b'"', b"\xff", b":", b" "])
            elif what == 3:
                mutilated[at:at] = mutilated[: dice.randrange(80)]
            else:
                del mutilated[at:]
        exchange(port, bytes(mutilated))
    running.events.clear()
    with Poster(running.pane, port) as poster:
        poster.post("stop", {"session_id": "after all that"})
    running.expect("hook", lambda event: event["payload"].get("session_id") == "after all that")
    assert [event for event in running.events if event["event"] == "error"] == []


def test_a_mebibyte_of_tool_output_is_taken_in_and_not_passed_on(running: Daemon) -> None:
    hook_input = {
        "tool_name": "Read",
        "tool_response": "x" * (15 * 1024 * 1024),
        "tool_input": {"command": "y" * 100_000},
    }
    with Poster(running.pane, port_of(running)) as poster:
        assert poster.post("tool-end", hook_input) == 200
    payload = running.expect("hook")["payload"]
    assert payload == {"tool_name": "Read", "tool_input": {"command": "y" * 2048}}


def test_an_event_always_fits_into_its_packet(running: Daemon) -> None:
    """Every control character is six bytes in JSON: limits on the texts alone would not do."""
    everything: dict[str, Any] = {
        name: "\x01" * 100_000
        for name in (
            "session_id",
            "transcript_path",
            "cwd",
            "prompt",
            "message",
            "last_assistant_message",
            "error",
            "tool_name",
        )
    }
    everything["tool_input"] = {"command": "\x01" * 100_000, "description": "\x01" * 100_000}
    with Poster(running.pane, port_of(running)) as poster:
        assert poster.post("prompt-submit", everything) == 200
    event = running.expect("hook")
    assert event["payload"]["prompt"].startswith("\x01" * 1000)
    assert event["payload"]["prompt_bytes"] == 100_000


@pytest.mark.slow
def test_half_a_request_is_dropped_after_ten_seconds_and_a_whole_one_never_waits(running: Daemon) -> None:
    with socket.create_connection(("127.0.0.1", port_of(running)), DEADLINE) as loris:
        loris.sendall(b"POST /hook/stop HTTP/1.1\r\n")
        dripping = threading.Event()

        def drip() -> None:
            # One byte in a while keeps a timeout that starts anew with each byte from ever firing.
            while not dripping.wait(0.5):
                try:
                    loris.sendall(b"X")
                except OSError:
                    return

        dripper = threading.Thread(target=drip)
        dripper.start()
        with Poster(running.pane, port_of(running)) as poster:
            assert poster.post("stop", {}) == 200
        try:
            assert loris.recv(1) == b""
        except ConnectionResetError:
            pass
        dripping.set()
        dripper.join()


def test_idle_connections_give_way_and_a_crowd_of_unfinished_ones_locks_nobody_in(running: Daemon) -> None:
    port = port_of(running)
    idle = [socket.create_connection(("127.0.0.1", port), DEADLINE) for _ in range(100)]
    with Poster(running.pane, port) as poster:
        assert poster.post("stop", {}) == 200
        assert open_sockets(running.pane.pid) <= 40
    for connection in idle:
        connection.close()


def test_bodies_that_never_end_cannot_fill_the_memory(running: Daemon) -> None:
    port = port_of(running)
    before = resident(running.pane.pid)
    crowd = []
    for _ in range(32):
        connection = socket.create_connection(("127.0.0.1", port), DEADLINE)
        connection.setblocking(False)
        crowd.append((connection, memoryview(request(running, b" " * (16 * 1024 * 1024))[:-1])))
    deadline = time.monotonic() + DEADLINE
    while crowd and time.monotonic() < deadline:
        waiting = []
        for connection, rest in crowd:
            try:
                rest = rest[connection.send(rest[:262144]) :]
            except BlockingIOError:
                pass
            except OSError:
                rest = rest[:0]
            if rest:
                waiting.append((connection, rest))
            else:
                connection.close()
        crowd = waiting
    assert peak(running.pane.pid) - before < 128 * 1024
    with Poster(running.pane, port) as poster:
        assert poster.post("stop", {}) == 200


# Over the unix socket, because TCP itself drops what a killed sender had not transmitted yet.
LAST_WORDS = r"""
import json, os, signal, socket, time
open("ready", "w").close()
while not os.path.exists("go"): time.sleep(0.005)
connection = socket.socket(socket.AF_UNIX)
connection.connect(os.environ["PHOENIX_HOOK_DIR"] + "/hook.sock")
for n in range(20):
    body = json.dumps({"session_id": str(n)})
    head = f"POST /hook/session-end HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {os.environ['PHOENIX_TOKEN']}\r\n"
    connection.send(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_last_words_of_a_dying_agent_are_told_before_its_death(daemon: Daemon) -> None:
    started = daemon.start([sys.executable, "-S", "-c", LAST_WORDS])
    eventually_sync((daemon.pane.room / "ready").exists)
    # The shim finds all at once: a caller at its door, twenty events, and a dead child.
    os.kill(daemon.pane.pid, signal.SIGSTOP)
    (daemon.pane.room / "go").touch()
    eventually_sync(lambda: not is_running(started["pid"]))
    os.kill(daemon.pane.pid, signal.SIGCONT)
    daemon.expect("exited")
    said = [event["payload"]["session_id"] for event in daemon.events if event["event"] == "hook"]
    assert said == [str(n) for n in range(20)]


def test_g27_the_heartbeat_is_the_seeds_and_the_last_one_lands(running: Daemon) -> None:
    path = running.pane.state / "heartbeat.json"
    started: Event = running.events[1]
    writes, began = set(), time.monotonic()
    with Poster(running.pane, port_of(running)) as poster:
        for number in range(300):
            hook_input = {"tool_name": f"tool-{number}", "session_id": "s", "agent_id": "sub"}
            assert poster.post("tool-start", hook_input) == 200
            writes.add(path.stat().st_ino)
    eventually_sync(lambda: running.pane.record("heartbeat.json")["tool"] == "tool-299", what="the last beat lands")
    beat = running.pane.record("heartbeat.json")
    assert beat.pop("timestamp").endswith("Z")
    assert beat == {
        "agent": "a",
        "tool": "tool-299",
        "pid": started["pid"],
        "event": "tool-start",
        "session_id": "s",
        "agent_id": "sub",
        "run_id": started["run_id"],
    }
    # At most one a second, however long a busy machine takes for all of it.
    assert len(writes) <= 2 + time.monotonic() - began


def test_the_last_beat_of_a_dead_agent_is_on_file_when_its_death_is_told(running: Daemon) -> None:
    with Poster(running.pane, port_of(running)) as poster:
        for number in range(5):
            poster.post("tool-end", {"tool_name": f"tool-{number}"})
    running.kill(running.events[1])
    assert running.pane.record("heartbeat.json")["tool"] == "tool-4"


def open_sockets(pid: int) -> int:
    return sum(1 for fd in Path(f"/proc/{pid}/fd").iterdir() if "socket" in str(fd.readlink()))


def resident(pid: int) -> int:
    return field(pid, "VmRSS")


def peak(pid: int) -> int:
    return field(pid, "VmHWM")


def field(pid: int, name: str) -> int:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1])
