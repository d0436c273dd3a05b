"""Twenty agents, and everything at once that asks too much: an operator's stop gets through, and no agent is lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from phoenixd.api import places
from phoenixd.demo.stage import Stage
from phoenixd.signals import MEANINGLESS
from tests.e2e.test_who_asks import FOLLOW, descriptors, free_descriptors, pid_of
from tests.proof.attacks.conftest import AGENTS

pytestmark = [pytest.mark.proof, pytest.mark.timeout(900)]

PATIENCE = 180.0
NAMES = [f"a{number}" for number in range(AGENTS)]
HALF = b"POST /v1/agents/a0/stop HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"
WAIT = b"GET /v1/agents/a1/wait?for=stopped&timeout=600s HTTP/1.1\r\nhost: x\r\n\r\n"


@contextmanager
def fleet(stage: Stage) -> Iterator[dict[str, int]]:
    """Twenty agents at work, by name and process; afterwards all but those that the test stopped still are."""
    for name in NAMES:
        stage.declare(name, f'[agent.{name}]\nargv = ["sleep", "100000"]\ncwd = "/"\n')
    stage.up()
    stage.until("all run", lambda: all(row["state"] == "running" for row in stage.rows().values()), PATIENCE)
    before = {name: row["pid"] for name, row in stage.rows().items()}
    yield before
    after = stage.rows()
    wanted = {name: row["pid"] for name, row in after.items() if row["desired"] == "running"}
    assert wanted == {name: before[name] for name in wanted}
    assert all(Path(f"/proc/{pid}").exists() for pid in wanted.values())


def test_every_kind_of_connection_at_once_leaves_room_for_stop(stage: Stage) -> None:
    path = os.fsencode(stage.runtime / "api.sock")
    with fleet(stage) as agents, ExitStack() as opened:
        pid = pid_of(stage)
        before, most = len(descriptors(pid)), 0
        for number in range(900):
            client = opened.enter_context(socket.socket(socket.AF_UNIX))
            client.connect(path)
            client.settimeout(PATIENCE)
            try:
                client.sendall((FOLLOW, WAIT, HALF, b"")[number % 4])
            except ConnectionError:
                continue  # It was sent away at once.
            most = max(most, len(descriptors(pid)) - before)
        stopped = stage.ctl("stop", "a0")
        assert stopped.returncode == 0, stopped.stderr
        assert not Path(f"/proc/{agents['a0']}").exists()
        assert most <= places.AGENTS + places.OPERATORS + 20, "the rest is the daemon's own business of the moment"
        opened.close()


def test_at_each_number_of_free_descriptors_nobody_is_denied_and_nothing_is_lost(stage: Stage) -> None:
    with fleet(stage):
        told = set()
        for free in range(1, 8):
            with free_descriptors(pid_of(stage), free):
                told.add(stage.ctl("status", "--json").returncode)
        assert told <= {0, 1}, "5 would be: denied"
        assert stage.ctl("status", "--json").returncode == 0


def test_a_terminal_server_that_hangs_under_twenty_agents_is_told_within_doctors_time(stage: Stage) -> None:
    with fleet(stage):
        asked = ["tmux", "-S", str(stage.runtime / "tmux.sock"), "display-message", "-p", "#{pid}"]
        server = int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
        os.kill(server, signal.SIGSTOP)
        try:
            examined = stage.ctl("doctor", "--json")
        finally:
            os.kill(server, signal.SIGCONT)
        findings = json.loads(examined.stdout)["findings"]
        (found,) = [one for one in findings if one["title"] == "tmux does not answer"]
        assert f"{AGENTS} agents run on in it" in found["detail"]
        assert found["remedy"].endswith(f"kill -CONT {server}")
        stage.until("it is well", lambda: "tmux does not answer" not in stage.ctl("doctor").stdout, PATIENCE)


def test_signals_and_a_cleared_library_under_twenty_agents_cost_none(stage: Stage) -> None:
    with fleet(stage) as agents:
        parents = {int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in agents.values()}
        assert len(parents) == AGENTS, "each has a shim of its own"
        for pid in (pid_of(stage), *parents):
            for number in MEANINGLESS:
                os.kill(pid, number)
        shutil.rmtree(stage.state / "lib")
        stage.declare("new", '[agent.new]\nargv = ["sleep", "100000"]\ncwd = "/"\nautostart = false\n')
        stage.ask("apply")
        stage.ask("start", "new", "--wait")
        agents["new"] = stage.row("new")["pid"]
