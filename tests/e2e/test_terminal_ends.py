"""The tmux server of the agents dies, hangs or cannot be found: all come back at once, once each, told once."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.census import incarnations, survivors
from tests.e2e.test_handoff import begun, step
from tests.waiting import eventually_sync

TEN = [f"a{number:02}" for number in range(10)]
NOTICE = [
    "the tmux server has ended, and with it the runs of 10 agents: all of them are started again",
    "the tmux server had ended; 10 agents were resumed",
]


class Server:
    """The tmux server of a stage, as an operator with its socket has it."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.socket = stage.runtime / "tmux.sock"

    def __call__(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-N", "-S", str(self.socket), *words], capture_output=True, text=True, check=False, timeout=60
        )
        return done.stdout.strip()

    @property
    def pid(self) -> int:
        told: list[str] = []

        def answers() -> bool:
            told[:] = [self("display-message", "-p", "#{pid}")]
            return told[0].isdigit()

        self.stage.until("the tmux server answers", answers)
        return int(told[0])

    def servers(self) -> list[int]:
        """All tmux servers that were started for this socket."""
        found = survivors(self.stage.root)
        return sorted(pid for pid in found if Path(f"/proc/{pid}/comm").read_text().startswith("tmux: server"))

    def sessions(self) -> list[str]:
        return sorted(line for line in self("list-sessions", "-F", "#{session_name}").split() if line != "phoenixd")

    def ends(self, how: str) -> None:
        if how == "kill-server":
            self("kill-server")
        else:
            os.kill(self.pid, signal.Signals[how])


def declare(stage: Stage, names: list[str], script: str = "exec sleep 100000", keys: str = "") -> None:
    for name in names:
        stage.declare(name, f'[agent.{name}]\nargv = ["sh", "-c", {json.dumps(script)}]\ncwd = "/"\n{keys}')


def running(stage: Stage, names: list[str], incarnation: int = 1) -> None:
    """Wait until each runs in this incarnation or a later one."""

    def arrived() -> bool:
        rows = stage.rows()
        return all(rows[name]["state"] == "running" and rows[name]["incarnation"] >= incarnation for name in names)

    stage.until(f"all run, at least for the {incarnation}. time", arrived)


def story(stage: Stage, *words: str) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(stage.ask("events", *words, "--all", "--json"))["events"]
    return told


def notices(stage: Stage) -> list[str]:
    """What is told of the fleet as a whole, but for the daemon's own begin."""
    return [one["reason"] for one in story(stage) if not one["agent"] and one["weight"] == "story" and one["reason"]][
        1:
    ]


def assert_calm(stage: Stage, names: list[str], incarnation: int | None = 2) -> None:
    """Each is there once, nothing counts against any, nobody waited, and nothing waits for a person."""
    for name in names:
        row = stage.row(name)
        assert row["state"] == "running"
        assert incarnation is None or row["incarnation"] == incarnation, (name, row["reason"])
        assert len(incarnations(stage.root, name)) == 1, f"{name} is doubled or gone"
        told = story(stage, name)
        waited = [one["reason"] for one in told if one["state"] == "starting" and one["event"] == "tick"]
        assert waited == [], "a start that waits for its time begins with a tick"
    assert json.loads(stage.ask("inbox", "--json"))["items"] == []
    assert not any(row["alerts"] for row in stage.rows().values() if "alerts" in row)


def counted(stage: Stage) -> list[str]:
    """The ends and the starts that count as crashes of their agents."""
    return [one["reason"] for one in story(stage) if "crashes" in one["readings"]]


def none_died(stage: Stage) -> list[dict[str, Any]]:
    """The ends of the server that `since` tells of; no agent is said to have died."""
    told = json.loads(stage.ask("since", "1h", "--json"))
    assert told["deaths"]["total"] == 0
    ends: list[dict[str, Any]] = told["terminal_ends"]
    return ends


@pytest.mark.slow
@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM", "kill-server"])
def test_f_tmux_2_however_the_server_ends_all_are_back_at_once_and_it_is_told_once(stage: Stage, how: str) -> None:
    declare(stage, TEN)
    stage.up()
    running(stage, TEN)
    server = Server(stage)
    old = server.pid
    server.ends(how)
    running(stage, TEN, 2)
    stage.until("it is told that all are back", lambda: NOTICE[1] in notices(stage))

    assert_calm(stage, TEN)
    assert counted(stage) == []
    assert {row["mode"] for row in stage.rows().values()} == {"resume"}
    assert {row["restarts"] for row in stage.rows().values()} == {1}
    assert notices(stage)[-1] == NOTICE[1]
    assert len(notices(stage)) <= 3
    assert server.sessions() == [f"phx-{name}" for name in TEN]
    assert server.servers() == [server.pid] != [old]
    (end,) = none_died(stage)
    assert (end["fell"], end["back"]) == (TEN, TEN)


def test_f_tmux_2_an_operator_sees_the_session_again(stage: Stage) -> None:
    declare(stage, ["a"], "echo here it is; exec sleep 100000")
    stage.up()
    running(stage, ["a"])
    server = Server(stage)
    server.ends("SIGKILL")
    running(stage, ["a"], 2)
    with attached(server, "a"):
        stage.until("it is attached", lambda: "phx-a" in server("list-clients", "-F", "#{client_session}"))
        stage.until("its screen is shown", lambda: "here it is" in server("capture-pane", "-p", "-t", "=phx-a:"))


@contextmanager
def attached(server: Server, name: str) -> Iterator[None]:
    keyboard, terminal = pty.openpty()
    argv = ["tmux", "-N", "-S", str(server.socket), "attach", "-t", f"=phx-{name}"]
    environ = {**os.environ, "TERM": "xterm"}
    client = subprocess.Popen(
        argv, stdin=terminal, stdout=terminal, stderr=terminal, env=environ, start_new_session=True
    )
    os.close(terminal)
    try:
        yield
    finally:
        client.kill()
        client.wait()
        os.close(keyboard)


@pytest.mark.slow
def test_f_tmux_2_killed_twice_within_a_second_it_is_one_event_and_none_is_doubled(stage: Stage) -> None:
    declare(stage, TEN)
    stage.up()
    running(stage, TEN)
    server = Server(stage)
    server.ends("SIGKILL")
    stage.until("the next server makes panes", lambda: bool(server.sessions()))
    server.ends("SIGKILL")
    stage.until("all are told to be back", lambda: notices(stage)[-1].startswith("the tmux server had ended; "))
    running(stage, TEN, 2)

    assert_calm(stage, TEN, None)
    assert counted(stage) == []
    assert all(row["incarnation"] <= 3 for row in stage.rows().values())
    assert server.sessions() == [f"phx-{name}" for name in TEN]


LATE = "#!/bin/sh\ntouch {asked}\nwhile ! test -e {go}; do sleep 0.05; done\nexec env -0\n"


@pytest.mark.slow
def test_f_tmux_2_a_start_under_way_when_the_server_ends_is_begun_again_and_once(stage: Stage) -> None:
    """Its shim is there, and has no order yet: a login shell is asked first."""
    shell, asked, go = (stage.root / name for name in ("shell", "asked", "go"))
    shell.write_text(LATE.format(asked=asked, go=go))
    shell.chmod(0o755)
    stage.environ["SHELL"] = str(shell)
    declare(stage, ["a"], keys='env_from = "login"\nautostart = false\n')
    declare(stage, ["b"])
    stage.up()
    running(stage, ["b"])
    stage.ask("start", "a")
    stage.until("its environment is being asked for", asked.exists)
    server = Server(stage)
    server.ends("SIGKILL")
    running(stage, ["b"], 2)
    go.touch()
    running(stage, ["a"])
    stage.until("all are told to be back", lambda: any("had ended" in one for one in notices(stage)))

    assert_calm(stage, ["a"], None)
    assert_calm(stage, ["b"])


@pytest.mark.slow
@pytest.mark.parametrize("what", ["kill-session", "kill-pane"])
def test_f_tmux_3_a_session_or_a_pane_that_somebody_kills_is_back_and_no_event_of_the_fleet(
    stage: Stage, what: str
) -> None:
    declare(stage, ["a", "b"])
    stage.up()
    running(stage, ["a", "b"])
    server = Server(stage)
    old = server.pid
    server(what, "-t", "=phx-a" if what == "kill-session" else "=phx-a:0.0")
    running(stage, ["a"], 2)

    # Who fell within seconds of its start waits, for what ended it may be there still.
    assert len(incarnations(stage.root, "a")) == 1
    assert_calm(stage, ["b"], 1)
    assert notices(stage) == []
    assert server.pid == old
    assert server.sessions() == ["phx-a", "phx-b"]


@pytest.mark.slow
@pytest.mark.parametrize("daemon", ["lives", "was killed"])
def test_a_server_whose_socket_was_taken_away_is_found_again_and_no_second_one_is_started(
    stage: Stage, daemon: str
) -> None:
    declare(stage, ["a", "b"])
    declare(stage, ["c"], keys="autostart = false\n")
    stage.up()
    running(stage, ["a", "b"])
    server = Server(stage)
    old = server.pid
    if daemon == "was killed":
        stage.kill()
    server.socket.unlink()
    if daemon == "was killed":
        stage.up()
    stage.ask("start", "c")
    running(stage, ["a", "b", "c"])

    assert server.pid == old
    assert server.servers() == [old]
    assert server.sessions() == ["phx-a", "phx-b", "phx-c"]
    assert_calm(stage, ["a", "b", "c"], 1)


@pytest.mark.slow
def test_f_tmux_8_a_server_that_hangs_ends_nobody_and_who_has_a_shim_comes_back_meanwhile(stage: Stage) -> None:
    declare(stage, ["a", "b", "c", "d"])
    stage.up()
    running(stage, ["a", "b", "c", "d"])
    server = Server(stage)
    old = server.pid
    os.kill(old, signal.SIGSTOP)
    try:
        os.kill(stage.row("a")["pid"], signal.SIGKILL)
        running(stage, ["a"], 2)
        run = json.loads((stage.state / "agents/b/run.json").read_text())
        os.kill(run["shim"]["pid"], signal.SIGKILL)
        stage.until(
            "a start without a terminal fails, and is told",
            lambda: "start_failed" in [one["event"] for one in story(stage, "b")],
        )
    finally:
        os.kill(old, signal.SIGCONT)
    running(stage, ["b"], 2)

    assert_calm(stage, ["a"])
    assert_calm(stage, ["c", "d"], 1)
    assert len(incarnations(stage.root, "b")) == 1
    assert server.servers() == [old]
    assert server.sessions() == [f"phx-{name}" for name in "abcd"]


@pytest.mark.slow
def test_a_text_that_is_being_typed_when_the_server_ends_is_told_and_later_ones_arrive(stage: Stage) -> None:
    """None is lost in silence: each that was ordered is said to be delivered or not, and is read once or never."""
    log = stage.root / "read"
    declare(stage, ["a"], f'while read -r line; do echo "$line" >> {log}; done', 'prompt_via = "paste"\n')
    stage.up()
    running(stage, ["a"])
    server = Server(stage)
    texts = [f"text number {number}" for number in range(12)]
    outcome: dict[str, int] = {}

    def send(text: str) -> None:
        outcome[text] = stage.ctl("send", "a", text).returncode

    senders = [threading.Thread(target=send, args=(text,)) for text in texts]
    for sender in senders:
        sender.start()
    stage.until("some were typed", lambda: log.exists() and bool(log.read_text()))
    server.ends("SIGKILL")
    for sender in senders:
        sender.join()
    running(stage, ["a"], 2)
    assert stage.ctl("send", "a", "the last").returncode == 0
    eventually_sync(lambda: "the last" in log.read_text(), what="what comes later arrives")

    read = log.read_text().splitlines()
    assert [text for text in texts if outcome[text] == 0 and read.count(text) != 1] == []
    assert [text for text in texts if read.count(text) > 1] == []


@pytest.mark.slow
@pytest.mark.parametrize("when", ["await_ack", "freeze"])
def test_f_tmux_2_a_handoff_under_way_comes_to_its_end_and_one_generation_holds_the_seat(
    stage: Stage, when: str
) -> None:
    work = begun(stage)
    (work / "HESITATES").touch()
    server = Server(stage)
    assert stage.ctl("handoff", "start", "boss").returncode == 0
    if when == "await_ack":
        stage.until("a successor waits", lambda: step(stage) == "await_ack")
    server.ends("SIGKILL")
    (work / "HESITATES").unlink()
    stage.until("it is over", lambda: step(stage) in ("done", "rolled_back"), 120)
    stage.until("the seat is held", lambda: stage.row("boss")["state"] == "running", 120)
    stage.until("one session is its own", lambda: server.sessions() == ["phx-boss"], 120)
    assert len(server.servers()) == 1
