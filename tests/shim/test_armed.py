"""Armed answers at the shim: given at once, also while no daemon lives; told until noted; gone with the run.

Nobody but the daemon arms, and nothing that an agent does disarms for good.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shim.pane import DEADLINE, TOKEN, Daemon, Event, Pane
from tests.waiting import eventually_sync

BLOCK = {"decision": "block", "reason": "Finish here; »write down« what only you know."}
DENY = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}
STOP: dict[str, Any] = {"id": "f-1", "kind": "stop", "tools": [], "times": 1, "seconds": 1800, "body": BLOCK}
FENCE: dict[str, Any] = {**STOP, "id": "d-1", "kind": "tool-start", "times": 100, "body": DENY}


class Running:
    """An agent that sleeps, and hooks that say they are its own."""

    def __init__(self, daemon: Daemon, library: Path, **changes: Any) -> None:
        self.pane, self.library = daemon.pane, library
        self.order = daemon.pane.order(["sleep", "1000"], **changes)
        daemon.give(self.order)
        self.started = daemon.expect("started")
        self.daemon = daemon

    def arm(self, answer: dict[str, Any], **changes: Any) -> None:
        self.daemon.send(op="arm", **{"incarnation": self.order["incarnation"], **answer, **changes})
        self.settled()

    def settled(self) -> Event:
        """The hello of the shim after all that it was told so far."""
        return hello(self.daemon)

    def post(self, kind: str, **said: Any) -> Any:
        """What the endpoint answers to an agent that posts its hooks."""
        line = http.client.HTTPConnection("shim", timeout=DEADLINE)
        line.sock = socket.socket(socket.AF_UNIX)
        line.sock.connect(str(self.pane.run / "hook.sock"))
        line.request("POST", f"/hook/{kind}", json.dumps(said), {"Authorization": f"Bearer {TOKEN}"})
        answered = json.loads(line.getresponse().read())
        line.close()
        return answered

    def hook(self, kind: str, **said: Any) -> Any:
        """What the hook program prints; None for nothing."""
        printed = subprocess.run(
            [str(self.library / "phoenix-hook"), kind],
            env=self.order["env"], input=json.dumps(said).encode(), capture_output=True, timeout=DEADLINE, check=True,
        )  # fmt: skip
        assert printed.stderr == b""
        assert printed.stdout.count(b"\n") <= 1
        return json.loads(printed.stdout) if printed.stdout else None

    def marks(self) -> list[str]:
        return sorted(path.name for path in self.pane.run.glob("armed.*"))


@pytest.fixture
def running(daemon: Daemon, library: Path) -> Running:
    return Running(daemon, library)


def hello(daemon: Daemon, protocol: int = 2) -> Event:
    daemon.send(op="hello", protocol=protocol, version="0.1.0", held_again=True)
    return daemon.expect("hello")


NOTHING: tuple[Any, ...] = ({}, None)


@pytest.mark.parametrize("way", ["post", "hook"])
def test_a_turns_end_is_held_up_once_and_never_again(running: Running, way: str) -> None:
    """Planted: without the count the second stop was held up as well."""
    ask = getattr(running, way)
    assert ask("stop", last_assistant_message="done") in NOTHING
    running.arm(STOP)

    assert ask("stop", last_assistant_message="done") == BLOCK
    assert ask("stop", last_assistant_message="done") in NOTHING

    kinds = [event["kind"] for event in collected(running, "hook")]
    assert kinds == ["stop", "stop-blocked", "stop"]
    assert running.marks() == []


def collected(running: Running, name: str) -> list[Event]:
    running.settled()
    told: dict[object, Event] = {}
    for event in running.daemon.events:
        for one in [event, *event.get("batch", [])]:
            if one["event"] == name:
                # Spooled ones come again after each hello.
                told[one.get("seq") or id(one)] = one
    return list(told.values())


@pytest.mark.parametrize("way", ["post", "hook"])
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("stop", {"stop_hook_active": True}),
        ("stop", {"stop_hook_active": "yes"}),
        ("stop", {"agent_id": "sub-1"}),
        ("subagent-stop", {"agent_id": "sub-1"}),
        ("stop", {"hook_event_name": "Interrupt"}),
        ("stop-failure", {}),
        ("tool-end", {"tool_name": "Task"}),
    ],
    ids=str,
)
def test_what_must_not_be_held_up_is_not(running: Running, way: str, kind: str, said: dict[str, Any]) -> None:
    running.arm(STOP, named="Stop")
    running.arm(FENCE)

    assert getattr(running, way)(kind, **said) in NOTHING
    assert {one["id"]: one["uses"] for one in running.settled()["armed"]} == {"f-1": 0, "d-1": 0}


@pytest.mark.parametrize("way", ["post", "hook"])
def test_a_turn_that_ends_with_a_question_is_left_alone_where_the_answer_says_so(running: Running, way: str) -> None:
    ask = getattr(running, way)
    running.arm(STOP, spares={"key": "last_assistant_message", "ends": ["?", "？"]})

    assert ask("stop", last_assistant_message="Shall I go on?\n") in NOTHING
    assert ask("stop", last_assistant_message="続けますか？") in NOTHING
    assert ask("stop", last_assistant_message="Is it done? It is.") == BLOCK


@pytest.mark.parametrize("way", ["post", "hook"])
def test_named_tools_are_denied_everywhere_and_others_run(running: Running, way: str) -> None:
    ask = getattr(running, way)
    running.arm(FENCE, tools=["Task", "Agent"])

    assert ask("tool-start", tool_name="Task", tool_use_id="t1") == DENY
    assert ask("tool-start", tool_name="Agent", agent_id="sub-1") == DENY
    assert ask("tool-start", tool_name="Bash") in NOTHING
    assert ask("tool-start") in NOTHING
    assert ask("tool-start", tool_name=["Task"]) in NOTHING

    events = collected(running, "hook")
    assert [event["kind"] for event in events][:2] == ["tool-denied", "tool-denied"]
    assert "tool-start" in {event["kind"] for event in events}


def test_without_names_every_tool_is_denied(running: Running) -> None:
    running.arm(FENCE)
    assert (running.post("tool-start", tool_name="Bash"), running.hook("tool-start")) == (DENY, DENY)


@pytest.mark.parametrize("way", ["post", "hook"])
def test_a_compaction_is_blocked_unless_a_person_asked_for_it(running: Running, way: str) -> None:
    running.arm(STOP, kind="pre-compact", times=5)
    assert getattr(running, way)("pre-compact", trigger="manual") in NOTHING
    assert getattr(running, way)("pre-compact", trigger="auto") == BLOCK

    events = collected(running, "hook")
    assert [event["payload"].get("blocked") for event in events] == [None, True]


def test_two_hooks_at_once_are_one_use(running: Running) -> None:
    running.arm(STOP)
    command = [str(running.library / "phoenix-hook"), "stop"]
    programs = [
        subprocess.Popen(command, env=running.order["env"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        for _ in range(12)
    ]
    printed = [program.communicate(timeout=DEADLINE)[0] for program in programs]

    assert [json.loads(one) for one in printed if one] == [BLOCK]


def test_it_is_given_while_no_daemon_lives_and_the_next_one_is_told(running: Running) -> None:
    running.arm(STOP)
    running.daemon.close()

    assert running.hook("stop") == BLOCK

    returned = running.pane.connect()
    told = hello(returned)
    assert told["armed"] == [{"id": "f-1", "uses": 1}]
    # It arms again what it does not know to be spent.
    returned.send(op="arm", incarnation=1, **STOP)
    hello(returned)
    assert running.hook("stop") is None
    assert running.post("stop") == {}


def test_each_use_is_told_until_it_is_noted(running: Running) -> None:
    running.arm(FENCE)
    running.post("tool-start", tool_name="Task")
    first = running.daemon.expect("armed_used")
    assert (first["id"], first["uses"], first["incarnation"]) == ("d-1", 1, 1)

    for _ in range(5):
        running.post("tool-start", tool_name="Task")
    # One report at a time, and it comes again.
    assert running.daemon.expect("armed_used")["uses"] == 6

    running.daemon.send(op="armed_noted", id="d-1", uses=6)
    running.settled()
    running.post("tool-start", tool_name="Task")
    assert running.daemon.expect("armed_used")["uses"] == 7
    running.daemon.send(op="armed_noted", id="d-1", uses=7)
    running.settled()
    seen = len(running.daemon.events)
    running.settled()
    assert [event["event"] for event in running.daemon.events[seen:] if event["event"] == "armed_used"] == []


def test_the_end_of_the_run_tells_the_uses_and_nothing_is_left_for_the_next(running: Running) -> None:
    running.arm(STOP)
    running.arm(FENCE)
    running.post("stop")
    running.daemon.send(op="kill", incarnation=1)

    ended = running.daemon.expect("exited")
    assert ended["armed"] == [{"id": "f-1", "uses": 1}, {"id": "d-1", "uses": 0}]
    assert running.pane.record("exit.json")["armed"] == ended["armed"]
    assert (running.marks(), running.settled()["armed"]) == ([], [])

    following = Running(running.daemon, running.library)
    assert following.hook("tool-start", tool_name="Task") is None
    assert following.post("stop") == {}


def test_it_stands_until_its_time_is_over(running: Running) -> None:
    running.arm(STOP, seconds=0.05)
    eventually_sync(lambda: running.marks() == [], DEADLINE, "its time is over")
    assert running.post("stop") == {}

    running.arm(STOP, seconds=1800)
    assert running.post("stop") == BLOCK, "told again, its end has moved"


def test_taken_back_it_is_not_given_whatever_is_told_later(running: Running) -> None:
    running.arm(STOP)
    running.daemon.send(op="disarm", incarnation=1, id="f-1")
    running.daemon.send(op="disarm", incarnation=1, id="unknown")
    running.arm(STOP)
    assert (running.hook("stop"), running.post("stop"), running.marks()) == (None, {}, [])


def test_of_another_incarnation_nothing_is_armed(running: Running) -> None:
    running.daemon.send(op="arm", **{**STOP, "incarnation": 7})
    assert running.daemon.expect("ignored") == {"event": "ignored", "op": "arm", "incarnation": 7}
    assert running.post("stop") == {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ""},
        {"id": "a/b"},
        {"id": "x" * 65},
        {"id": 7},
        {"kind": "prompt-submit"},
        {"kind": "session-start"},
        {"kind": None},
        {"named": 7},
        {"tools": "Task"},
        {"tools": [7]},
        {"tools": ["x" * 600]},
        {"tools": ["x"] * 65},
        {"times": 0},
        {"spares": "?"},
        {"spares": {"key": "last_assistant_message"}},
        {"spares": {"key": "words", "ends": ["?" * 17]}},
        {"times": 1001},
        {"times": True},
        {"seconds": 0},
        {"seconds": -1},
        {"seconds": float("nan")},
        {"seconds": float("inf")},
        {"seconds": 86401},
        {"seconds": "60"},
        {"body": "block"},
        {"body": {"reason": "x" * 33000}},
        {"incarnation": "1"},
    ],
    ids=lambda wrong: str(wrong)[:40],
)
def test_what_is_torn_or_too_much_is_refused_and_told(running: Running, wrong: dict[str, Any]) -> None:
    running.daemon.send(op="arm", **{"incarnation": 1, **STOP, **wrong})
    assert running.daemon.expect("error")["message"].startswith("arm: ")
    assert (running.settled()["armed"], running.post("stop"), running.marks()) == ([], {}, [])


def test_eight_stand_at_most_and_names_are_remembered_within_bounds(running: Running) -> None:
    for number in range(8):
        running.arm(FENCE, id=f"d-{number}")
    running.daemon.send(op="arm", **{"incarnation": 1, **FENCE, "id": "d-8"})
    assert "no room" in running.daemon.expect("error")["message"]
    for number in range(200):
        running.daemon.send(op="disarm", incarnation=1, id=f"d-{number}")
        running.daemon.send(op="arm", **{"incarnation": 1, **FENCE, "id": f"d-{number + 8}"})
        if number % 50 == 49:
            running.settled()
    assert len(running.settled()["armed"]) == 8


def test_promise_8_an_agent_that_takes_the_mark_away_disarms_nothing_for_long(running: Running) -> None:
    running.arm(FENCE)
    (mark,) = running.pane.run.glob("armed.*")
    mark.unlink()

    assert running.hook("tool-start", tool_name="Task") is None
    told = running.daemon.expect("error", lambda event: "taken away" in event["message"])
    assert "the mark" in told["message"]
    assert running.hook("tool-start", tool_name="Task") == DENY

    # Whatever stands in its place is no mark, and is not followed.
    target = running.pane.room / "target"
    (mark,) = running.pane.run.glob("armed.*")
    mark.unlink()
    mark.symlink_to(target)
    running.hook("tool-start", tool_name="Task")
    eventually_sync(lambda: not mark.is_symlink(), DEADLINE, "the mark is one again")
    assert not target.exists()
    assert running.hook("tool-start", tool_name="Task") == DENY


def test_an_agent_cannot_arm(running: Running) -> None:
    """Its marks and files say nothing: the link is the daemon's, and a peer below the shim is turned away there."""
    (running.pane.run / "armed.1.stop").touch()
    (running.pane.run / "hooks" / "1.1.json").write_text(json.dumps({"op": "arm", **STOP}))
    assert running.hook("stop") is None
    assert running.post("stop", op="arm", id="f-1", times=1, seconds=1800, body=BLOCK) == {}


def test_the_hook_program_does_not_wait_for_ever_for_a_shim_that_is_stopped(running: Running) -> None:
    running.arm(FENCE)
    os.kill(running.pane.pid, signal.SIGSTOP)
    try:
        assert running.hook("tool-start", tool_name="Task") is None
    finally:
        os.kill(running.pane.pid, signal.SIGCONT)
    assert running.hook("tool-start", tool_name="Task") == DENY


def test_marks_of_a_shim_that_was_killed_are_gone_before_the_next_run(
    open_pane: Callable[..., Pane], library: Path
) -> None:
    pane = open_pane()
    running = Running(pane.daemon(), library)
    running.arm(FENCE)
    assert running.marks() == ["armed.1.tool-start"]
    os.kill(pane.pid, signal.SIGKILL)
    pane.process.wait(DEADLINE)

    following = Running(open_pane(room=pane.room).daemon(), library)
    assert (following.marks(), following.hook("tool-start")) == ([], None)


def test_a_large_input_that_says_it_was_held_up_is_not_held_up_again(running: Running) -> None:
    running.arm(STOP)
    assert running.hook("stop", last_assistant_message="x" * 400_000, stop_hook_active=True) is None
    assert running.hook("stop", last_assistant_message="x" * 400_000) == BLOCK


def test_a_daemon_of_the_protocol_before_is_spoken_to_in_it_and_told_no_uses(daemon: Daemon, library: Path) -> None:
    running = Running(daemon, library)
    running.arm(FENCE)
    assert (hello(daemon, 1)["protocol"], hello(daemon, 2)["protocol"], hello(daemon, 9)["protocol"]) == (1, 2, 2)

    hello(daemon, 1)
    seen = len(daemon.events)
    running.post("tool-start", tool_name="Task")
    hello(daemon, 1)
    assert {event["event"] for event in daemon.events[seen:]} == {"hook", "hello"}


def test_where_nothing_is_armed_the_hook_program_starts_nothing_more(running: Running) -> None:
    """The price of a tool call: a look for one file, and no process beside the one that reads the input."""
    strace = ["strace", "-f", "-q", "-e", "trace=clone,clone3,fork,vfork", "-e", "signal=none"]
    told = subprocess.run(
        [*strace, str(running.library / "phoenix-hook"), "tool-start"],
        env=running.order["env"], input=b"{}", capture_output=True, check=False,
    )  # fmt: skip
    if told.returncode != 0:
        pytest.skip(f"not run: strace: {told.stderr.decode()[:80]}")
    begun = [line for line in told.stderr.decode().splitlines() if "fork(" in line or "clone" in line]
    assert len(begun) == 1, begun
