"""The daemon's line: it may break, be flooded, talk nonsense or fall silent at any moment, and nothing is lost."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.shim.pane import DEADLINE, Daemon, Event, Pane, is_running
from tests.shim.posting import Poster
from tests.waiting import eventually_sync


def hooks_of(events: list[Event]) -> list[int]:
    return [event["seq"] for event in events if event["event"] == "hook" and event["seq"]]


def receive_hooks(daemon: Daemon, count: int) -> list[int]:
    while len(hooks_of(daemon.events)) < count:
        daemon.receive()
    return hooks_of(daemon.events)


def test_hello_tells_who_and_what(pane: Pane) -> None:
    hello = pane.connect().hello()
    assert (hello["protocol"], hello["version"], hello["agent"], hello["pid"]) == (1, "0.1.0", "a", pane.pid)
    assert (hello["run"], hello["exit"]) == (None, None)
    fields = Path(f"/proc/{pane.pid}/stat").read_text().rpartition(")")[2].split()
    assert hello["start_time"] == int(fields[19])
    assert stat.S_IMODE((pane.run / "link.sock").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("later", "told"),
    [
        ([], ["tool-start"]),
        (["notification"], ["tool-start"]),
        (["tool-end"], []),
        (["subagent-start"], []),
        (["stop"], []),
        (["prompt-submit"], []),
    ],
)
def test_a_daemon_that_comes_back_is_told_of_the_open_call(pane: Pane, later: list[str], told: list[str]) -> None:
    first = pane.daemon()
    first.start(["sleep", "1000"])
    with Poster(pane, None) as poster:
        for kind in ("tool-start", *later):
            assert poster.post(kind, {"tool_name": "Bash", "tool_use_id": "t1"}) == 200
            begun = first.expect("hook", lambda event, kind=kind: event["kind"] == kind)  # type: ignore[misc]
            if begun["seq"]:
                first.send(op="ack", seq=begun["seq"])
    ticks = next(event["ticks"] for event in first.events if event.get("kind") == "tool-start")
    first.close()

    second = pane.daemon()
    second.send(op="no such order")
    second.expect("error")
    again = [event for event in second.events if event["event"] == "hook" and not event["seq"]]
    assert [event["kind"] for event in again] == told
    assert all(event["ticks"] == ticks for event in again)


def test_the_first_message_must_be_a_hello(pane: Pane) -> None:
    daemon = pane.connect()
    daemon.send(op="quit")
    assert daemon.receive() == {"event": "error", "message": "the first message must be a hello"}
    assert daemon.hello()["pid"] == pane.pid


def test_a_daemon_that_comes_back_is_told_everything(pane: Pane) -> None:
    first = pane.daemon()
    started = first.start(["sleep", "1000"])
    first.close()
    second = pane.daemon()
    identity = ("incarnation", "run_id", "pid", "start_time")
    run = second.events[0]["run"]
    assert {name: run[name] for name in identity} == {name: started[name] for name in identity}
    second.close()
    os.kill(started["pid"], signal.SIGKILL)
    eventually_sync((pane.state / "exit.json").exists)
    hello = pane.connect().hello()
    assert hello["run"] is None
    assert (hello["exit"]["run_id"], hello["exit"]["signal"]) == (started["run_id"], 9)


def test_promise_1_a_daemon_that_dies_at_any_moment_harms_neither_shim_nor_agent(pane: Pane) -> None:
    started = pane.daemon().start(["sleep", "1000"])
    dice = random.Random(7)
    for _ in range(200):
        daemon = pane.connect()
        for message in ({"op": "hello"}, {"op": "notice", "lines": ["x"]}, {"op": "ack", "seq": 1})[
            : dice.randrange(4)
        ]:
            daemon.send(**message)
        daemon.close()
    assert pane.daemon().events[0]["run"]["pid"] == started["pid"]


def test_a_newer_daemon_takes_the_place_of_the_older(pane: Pane) -> None:
    older = pane.daemon()
    newer = pane.daemon()
    with pytest.raises(EOFError):
        older.receive()
    assert newer.start(["true"])["event"] == "started"


GARBAGE = [
    b"",
    b"\0",
    b"{",
    b"[]",
    b"null",
    b'"hello"',
    b"\xff\xfe",
    b"{}",
    b'{"op": 1}',
    b'{"op": "explode"}',
    b'{"op": ["hello"]}',
    b'{"op": "start"}',
    b'{"op": "start", "order": 1, "incarnation": 1, "run_id": "x"}',
    b'{"op": "start", "order": "/x", "incarnation": true, "run_id": "x"}',
    b'{"op": "start", "order": "/x", "incarnation": 1, "run_id": ""}',
    b'{"op": "kill"}',
    b'{"op": "kill", "incarnation": "7"}',
    b'{"op": "terminate", "incarnation": -1}',
    b'{"op": "ack", "seq": 1.5}',
    b'{"op": "ack"}',
    b'{"op": "notice", "lines": "x"}',
    b'{"op": "notice", "lines": [1]}',
    b"[" * 60000,
    b'{"a":' * 12000,
    b'{"op": ' + b"9" * 60000 + b"}",
    b'{"op": "' + b"x" * 70000 + b'"}',
    b'{"op": "quit"}' + b" " * 70000,
]


@pytest.mark.parametrize(
    "packet", GARBAGE, ids=lambda packet: f"{repr(packet[:40])[2:-1]} ... {repr(packet[-20:])[2:-1]} ({len(packet)})"
)
def test_garbage_is_answered_and_forgotten(daemon: Daemon, packet: bytes) -> None:
    daemon.link.send(packet)
    error = daemon.receive()
    assert error["event"] == "error"
    assert len(error["message"]) <= 1024
    assert daemon.start(["true"])


def test_a_thousand_random_packets_do_no_harm(daemon: Daemon) -> None:
    started = daemon.start(["sleep", "1000"])
    dice = random.Random(20261121)
    for _ in range(1000):
        message = bytearray(b'{"op": "hello", "protocol": 1, "incarnation": 99, "seq": 0, "lines": [], "run_id": "r"}')
        for _ in range(dice.randrange(1, 8)):
            message[dice.randrange(len(message))] = dice.randrange(256)
        daemon.link.send(bytes(message))
        daemon.receive()
    assert daemon.hello()["run"]["pid"] == started["pid"]


# As a child, as an orphan, and as an orphan in a session of its own.
INTRUDER = r"""
import os, socket, sys
for step in (lambda: None, lambda: os.fork() and os._exit(0), os.setsid):
    step()
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link.connect(sys.argv[1])
    print(link.recv(65536).decode(), flush=True)
    assert link.recv(65536) == b""
    # And one that talks at once, and is cut off before it can read why.
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link.connect(sys.argv[1])
    try:
        link.send(b'{"op": "quit"}')
        link.recv(65536)
    except OSError:
        pass
"""


def test_a_peer_from_inside_the_agents_tree_is_refused(daemon: Daemon) -> None:
    """It could order a program under the daemon's name, or kill itself out of every record."""
    pane = daemon.pane
    (pane.room / "intruder").write_text(INTRUDER)
    started = daemon.start(["sh", "-c", f"{sys.executable} -S intruder {pane.run}/link.sock > said; exec sleep 1000"])
    said = pane.room / "said"
    eventually_sync(lambda: said.exists() and said.read_text().count("belongs to an agent") >= 3)
    assert daemon.is_silent()
    assert daemon.hello()["run"]["pid"] == started["pid"]


def test_another_user_is_refused(pane: Pane) -> None:
    if os.geteuid() != 0:
        pytest.skip("not run: needs root to be somebody else")
    pane.connect().close()
    for path in (pane.room.parent, pane.room, pane.run):
        path.chmod(0o755)
    (pane.run / "link.sock").chmod(0o777)
    code = (
        "import os, socket, sys; os.setuid(65534); link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET);"
        "link.connect(sys.argv[1]); print(link.recv(65536).decode()); assert not link.recv(65536)"
    )
    stranger = subprocess.run(
        [sys.executable, "-c", code, str(pane.run / "link.sock")],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=True,
    )
    assert "user 65534 is neither root nor the agent" in stranger.stdout


def test_spooled_events_come_again_until_they_are_acknowledged_and_never_after(pane: Pane) -> None:
    daemon = pane.daemon()
    daemon.start(["sleep", "1000"])
    with Poster(pane, daemon.events[0]["hook_port"]) as poster:
        for kind in ("session-start", "prompt-submit", "notification", "stop", "session-end"):
            assert poster.post(kind, {"session_id": kind}) == 200
    seqs = receive_hooks(daemon, 5)
    assert seqs == sorted(set(seqs))
    daemon.send(op="ack", seq=seqs[1])
    daemon.close()
    second = pane.daemon()
    assert receive_hooks(second, 3) == seqs[2:]
    second.send(op="ack", seq=seqs[-1])
    second.close()
    third = pane.daemon()
    assert third.is_silent()
    assert hooks_of(third.events) == []


def test_the_spool_outlives_the_shim_and_its_numbers_go_on(open_pane: Callable[..., Pane], short_tmp: Path) -> None:
    first = open_pane(room=short_tmp / "a")
    daemon = first.daemon()
    daemon.start(["sleep", "1000"])
    with Poster(first, daemon.events[0]["hook_port"]) as poster:
        for kind in ("stop", "stop", "stop"):
            poster.post(kind, {})
    seqs = receive_hooks(daemon, 3)
    daemon.send(op="ack", seq=seqs[0])
    daemon.hello()
    first.process.kill()
    first.process.wait()
    second = open_pane(room=short_tmp / "a")
    daemon = second.daemon()
    assert receive_hooks(daemon, 2) == seqs[1:]
    daemon.send(op="ack", seq=seqs[-1])
    daemon.start(["sleep", "1000"])
    daemon.events.clear()
    with Poster(second, daemon.hello()["hook_port"]) as poster:
        poster.post("stop", {})
    assert receive_hooks(daemon, 1) == [seqs[-1] + 1]
    daemon.send(op="ack", seq=seqs[-1] + 1)
    daemon.hello()
    second.process.kill()
    second.process.wait()
    # Not even a spool that is empty forgets its numbers.
    daemon = open_pane(room=short_tmp / "a").daemon()
    daemon.start(["sleep", "1000"])
    with Poster(daemon.pane, daemon.events[0]["hook_port"]) as poster:
        poster.post("stop", {})
    assert receive_hooks(daemon, 1) == [seqs[-1] + 2]


def test_promise_10_the_spool_is_bounded_and_every_event_is_counted(pane: Pane) -> None:
    """Once the oldest were dropped, also from the count, wherever a flood met a daemon that was busy."""
    daemon = pane.daemon()
    port = daemon.events[0]["hook_port"]
    daemon.start(["sleep", "1000"])
    daemon.close()
    with Poster(pane, port) as poster:
        assert poster.post("session-start", {"source": "startup"}) == 200
        for number in range(1300):
            assert poster.post("prompt-submit", {"prompt": f"{number} " + "x" * 8000}) == 200
    assert (pane.state / "spool.jsonl").stat().st_size < 2.1 * 1024 * 1024
    back = pane.daemon()
    back.expect("hook", lambda event: event["payload"].get("prompt", "").startswith("1299 "))
    heard = [event for event in back.events if event["event"] == "hook"]
    assert [event["kind"] for event in heard[:2]] == ["session-start", "prompt-submit"], "the newest of each kind stays"
    assert 50 < len(heard) < 200
    assert sum(1 + event.get("more", 0) for event in heard) == 1301
    seqs = hooks_of(back.events)
    assert seqs[1:] == list(range(seqs[1], 1302))
    back.close()
    # The next daemon is told the same, for nobody has acknowledged anything.
    third = pane.daemon()
    third.expect("hook", lambda event: event["payload"].get("prompt", "").startswith("1299 "))
    assert [event for event in third.events if event["event"] == "hook"] == heard


def test_promise_10_what_was_sent_and_waits_to_be_acknowledged_is_not_counted_twice(pane: Pane) -> None:
    daemon = pane.daemon()
    daemon.start(["sleep", "1000"])
    with Poster(pane, daemon.events[0]["hook_port"]) as poster:
        for number in range(1300):
            assert poster.post("notification", {"message": str(number)}) == 200
            daemon.expect("hook", lambda event, number=number: event["payload"]["message"] == str(number))
    heard = [event for event in daemon.events if event["event"] == "hook"]
    assert sum(1 + event.get("more", 0) for event in heard) == 1300
    daemon.close()
    back = pane.daemon()
    back.expect("hook", lambda event: event["payload"]["message"] == "1299")
    again = [event for event in back.events if event["event"] == "hook"]
    assert len(again) == 1000
    assert sum(1 + event.get("more", 0) for event in again) == 1300


def test_promise_10_a_shim_that_follows_another_counts_what_that_one_had_shortened(
    open_pane: Callable[..., Pane], short_tmp: Path
) -> None:
    first = open_pane(room=short_tmp / "a")
    daemon = first.daemon()
    daemon.start(["sleep", "1000"])
    port = daemon.events[0]["hook_port"]
    daemon.close()
    with Poster(first, port) as poster:
        for _ in range(1100):
            assert poster.post("notification", {"message": "m" * 900}) == 200
    first.process.kill()
    first.process.wait()
    second = open_pane(room=short_tmp / "a").daemon()
    second.expect("hook", lambda event: event["seq"] == 1100)
    heard = [event for event in second.events if event["event"] == "hook"]
    assert sum(1 + event.get("more", 0) for event in heard) == 1100


def test_a_torn_spool_costs_no_more_than_the_torn_line(open_pane: Callable[..., Pane], short_tmp: Path) -> None:
    state = short_tmp / "a" / "state"
    state.mkdir(parents=True)
    good = {"event": "hook", "seq": 41, "incarnation": 1, "run_id": "r", "kind": "stop", "at": "x", "payload": {}}
    lines = [
        b'{"acked":40}',
        json.dumps(good).encode(),
        b'{"event":"hook","se',
        b"\xff\xfe",
        b"[]",
        b'{"seq":"x"}',
        b'{"seq":1e400}',
    ]
    (state / "spool.jsonl").write_bytes(b"\n".join(lines))
    daemon = open_pane(room=short_tmp / "a").daemon()
    assert receive_hooks(daemon, 1) == [41]
    daemon.send(op="ack", seq=41)
    assert daemon.is_silent()


def test_promise_10_a_connection_takes_the_line_from_nobody_before_it_says_hello(pane: Pane) -> None:
    """Once any process that connected cut off the daemon, and six in ten seconds left it deaf."""
    daemon = pane.daemon()
    daemon.start(["sleep", "1000"])
    silent = [pane.connect() for _ in range(20)]
    for one in silent[-4:]:
        one.send(op="kill", incarnation=1)
        assert "must be a hello" in one.expect("error")["message"]
    with Poster(pane, daemon.events[0]["hook_port"]) as poster:
        poster.post("stop", {"session_id": "heard"})
    assert daemon.expect("hook")["payload"] == {"session_id": "heard"}
    for one in silent:
        with contextlib.suppress(EOFError, ConnectionResetError):
            while one.receive()["event"] == "error":
                pass
            pytest.fail("somebody who never said hello is told something")
    assert daemon.hello()["run"] is not None, "the daemon is on the line as before"


@pytest.mark.parametrize("kind", ["fifo", "link", "directory"])
def test_a_trap_in_place_of_the_spool_neither_blocks_nor_breaks(
    open_pane: Callable[..., Pane], short_tmp: Path, kind: str
) -> None:
    state = short_tmp / "a" / "state"
    state.mkdir(parents=True)
    spool = state / "spool.jsonl"
    precious = short_tmp / "precious"
    precious.write_text("untouched")
    if kind == "fifo":
        os.mkfifo(spool)
    elif kind == "link":
        spool.symlink_to(precious)
    else:
        (spool / "x").mkdir(parents=True)
    daemon = open_pane(room=short_tmp / "a").daemon()
    daemon.start(["sleep", "1000"])
    with Poster(daemon.pane, daemon.events[0]["hook_port"]) as poster:
        poster.post("stop", {})
    assert receive_hooks(daemon, 1) == [1]
    assert precious.read_text() == "untouched"


def test_a_daemon_that_never_reads_blocks_nothing_and_misses_nothing_it_must_know(pane: Pane) -> None:
    deaf = pane.daemon()
    port = deaf.events[0]["hook_port"]
    started = deaf.start(["sleep", "1000"])
    with Poster(pane, port) as poster:
        for number in range(400):
            assert poster.post("tool-end", {"tool_name": "x" * 200, "tool_use_id": str(number)}) == 200
            assert poster.post("prompt-submit", {"prompt": str(number)}) == 200
        for number in range(400):
            assert poster.post("tool-end", {"tool_use_id": f"late {number}"}) == 200
    os.kill(started["pid"], signal.SIGKILL)
    eventually_sync(lambda: not is_running(started["pid"]))
    eventually_sync((pane.state / "exit.json").exists)
    back = pane.daemon()
    evidence = back.expect("hook", lambda event: event["seq"] == 0)
    assert back.events[0]["exit"]["run_id"] == started["run_id"]
    assert evidence["payload"]["tool_use_id"] == "late 399"
    assert [event["payload"]["prompt"] for event in back.events if event["event"] == "hook" and event["seq"]] == [
        str(number) for number in range(400)
    ]
    deaf.close()


def test_a_slow_daemon_gets_everything_in_order(pane: Pane) -> None:
    """What waits in the spool was said before the exit was: it is told before it as well."""
    daemon = pane.daemon()
    daemon.give(pane.order(["sh", "-c", "read go; exit 5"]))
    started = daemon.expect("started")
    with Poster(pane, daemon.events[0]["hook_port"]) as poster:
        for number in range(100):
            poster.post("prompt-submit", {"prompt": f"{number} " + "x" * 8000})
    pane.type(b"go\n")
    eventually_sync((pane.state / "exit.json").exists)
    exited = daemon.expect("exited")
    assert exited["run_id"] == started["run_id"]
    prompts = [event["payload"]["prompt"].split()[0] for event in daemon.events if event["event"] == "hook"]
    assert prompts == [str(number) for number in range(100)]


def talk(daemon: Daemon, times: int) -> bool:
    """False once the shim has hung up."""
    try:
        for _ in range(times):
            daemon.link.send(b"nonsense")
    except (ConnectionResetError, BrokenPipeError):
        return False
    return True


def test_a_daemon_that_talks_and_never_listens_is_cut_off_and_starves_nobody(pane: Pane) -> None:
    """Its answers would otherwise pile up in the shim for ever."""
    daemon = pane.daemon()
    daemon.start(["sleep", "1000"])
    with Poster(pane, daemon.events[0]["hook_port"]) as poster:
        while talk(daemon, 1000):
            assert poster.post("stop", {}) == 200
        assert poster.post("stop", {}) == 200
    assert pane.daemon().events[0]["run"] is not None
