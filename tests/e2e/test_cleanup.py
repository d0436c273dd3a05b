"""What a run owns is ended, by whatever name and at whatever port; what it does not own is reported, and lives."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.census import carrying
from tests.e2e.puppet import Puppet
from tests.e2e.storm import LINEAGES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/clean-up-after-runs.md").read_text(encoding="utf-8")
STORMS = 10
STOP = (
    b"POST /v1/agents/a/stop HTTP/1.1\r\nHost: phoenixd\r\n"
    b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
)
SERVER = [sys.executable, "-c", "import time; time.sleep(100000)", "-m", "server.main"]
LISTEN = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); time.sleep(100000)"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
def strangers() -> Iterator[list[subprocess.Popen[bytes]]]:
    made: list[subprocess.Popen[bytes]] = []
    yield made
    for one in made:
        one.kill()
        one.wait()


def puppet_with(stage: Stage, rules: str) -> Puppet:
    puppet = Puppet(stage.root / "a")
    stage.declare("a", f'[agent.a]\nargv = {json.dumps(puppet.argv)}\ncwd = "/"\n[agent.a.cleanup]\n{rules}\n')
    return puppet


@pytest.mark.slow
def test_g15_g16_g17_g35_x24_owned_servers_and_listeners_are_ended_and_strangers_live(
    stage: Stage, strangers: list[subprocess.Popen[bytes]]
) -> None:
    owned_port, foreign_port = free_port(), free_port()
    (rules,) = re.findall(r"^```toml\n\[agent.shop.cleanup\]\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    puppet = puppet_with(stage, rules.replace("8080", f"{owned_port}, {foreign_port}"))
    strangers += [subprocess.Popen(SERVER), subprocess.Popen([sys.executable, "-c", LISTEN, str(foreign_port)])]
    stage.until("the stranger listens", lambda: listens(foreign_port))
    stage.up()
    stage.until_running("a", 1)
    started = puppet.do(
        "import subprocess\n"
        f"out = [subprocess.Popen({SERVER!r}, start_new_session=True).pid,\n"
        f"       subprocess.Popen({[sys.executable, '-c', LISTEN, str(owned_port)]!r}).pid,\n"
        "       subprocess.Popen(['sleep', '100000']).pid]"
    )
    server, listener, bystander = json.loads(started)
    stage.until("the agent's server listens", lambda: listens(owned_port))

    planned = json.loads(stage.ask("cleanup", "a", "--dry-run", "--json"))
    assert {one["pid"]: one["why"] for one in planned["owned"]} == {
        server: 'matches "-m server.main"',
        listener: f"holds port {owned_port}",
    }
    assert [(one["port"], one["pid"]) for one in planned["foreign"]] == [(foreign_port, strangers[1].pid)]
    assert lives(server)

    done = stage.ask("cleanup", "a")
    assert f"ended {server} of a: matches" in done
    assert "none of ours" in done
    assert not lives(server)
    assert not lives(listener)
    assert lives(bystander)
    assert [one.poll() for one in strangers] == [None, None]
    assert stage.row("a")["incarnation"] == 1
    told = json.dumps(json.loads(stage.ask("explain", "a", "--json"))["decisions"])
    assert "ended 2 processes" in told
    assert f"port {foreign_port} is held by pid {strangers[1].pid}" in told

    for line in re.findall(r"^phoenixctl (.*)", PAGE, re.MULTILINE):
        assert f"{strangers[1].pid}" in stage.ask(*line.replace("shop", "a").split())


@pytest.mark.slow
def test_g41_what_an_earlier_run_left_is_removed_before_the_next(
    stage: Stage, strangers: list[subprocess.Popen[bytes]]
) -> None:
    puppet_with(stage, 'match = ["nothing of that name"]')
    place = str(stage.state / "agents" / "a")
    marks = {"PHOENIX_AGENT": "a", "PHOENIX_STATE_DIR": place, "PHOENIX_RUN_ID": "11111111-an-earlier-run"}
    of_others = {**marks, "PHOENIX_STATE_DIR": "/somewhere/else/agents/a"}
    strangers += [subprocess.Popen(SERVER, env={**os.environ, **env}) for env in (marks, of_others)]
    stage.up()
    stage.until_running("a", 1)
    assert strangers[0].wait(60) == -9
    assert strangers[1].poll() is None
    assert f"{strangers[0].pid} " in stage.ask("events", "a", "--all", "--json")


@pytest.mark.slow
def test_f_proc_21_a_start_waits_for_a_stranger_to_leave_the_port_if_told_so(
    stage: Stage, strangers: list[subprocess.Popen[bytes]]
) -> None:
    port = free_port()
    puppet_with(stage, f'ports = [{port}]\nforeign_port = "refuse"')
    strangers.append(subprocess.Popen([sys.executable, "-c", LISTEN, str(port)]))
    stage.until("the stranger listens", lambda: listens(port))
    stage.up()
    stage.until("the start is refused", lambda: f"port {port} is held by pid" in stage.row("a")["reason"])
    assert strangers[0].poll() is None
    strangers[0].kill()
    stage.ask("start", "a")
    stage.until("it runs", lambda: stage.row("a")["state"] == "running")
    assert "free of strangers" in stage.ask("events", "a", "--all", "--json")


@pytest.mark.proof
def test_promise_5_a_fork_storm_of_twenty_lineages_is_dead_within_a_second_of_stop(
    stage: Stage, strangers: list[subprocess.Popen[bytes]]
) -> None:
    """Lineages that fork, leave their session and die, again and again; beside them twenty decoys of the same name."""
    place = stage.root / "storm"
    storm = [sys.executable, str(Path(__file__).with_name("storm.py")), str(place)]
    stage.declare("a", f'[agent.a]\nargv = {json.dumps(storm)}\ncwd = "/"\nautostart = false\n')
    strangers += [subprocess.Popen(storm, start_new_session=True) for _ in range(LINEAGES)]
    decoys = {one.pid for one in strangers}
    stage.up()
    seconds = []
    for _ in range(STORMS):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        os.mkfifo(place / "alive")
        alive = os.open(place / "alive", os.O_RDONLY | os.O_NONBLOCK)
        stage.ask("start", "a")
        stage.until("all lineages hop", lambda: len(list(place.iterdir())) == LINEAGES + 1)
        poll = select.poll()
        poll.register(alive, select.POLLHUP)
        assert poll.poll(0) == []

        # Not by phoenixctl: what the storm leaves of the processors is not enough to start it within a second.
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(stage.runtime / "api.sock"))
            began = time.monotonic()
            line.sendall(STOP)
            assert poll.poll(60_000) == [(alive, select.POLLHUP)], "the storm goes on"
            seconds.append(time.monotonic() - began)
            assert line.recv(16) == b"HTTP/1.1 200 OK\r"
        os.close(alive)
        assert set(carrying(storm[1].encode())) == decoys
    figures = " ".join(f"{one:.3f}" for one in sorted(seconds))
    print(f"\nfork storm of {LINEAGES} lineages, seconds from the order to stop until nothing of it lives: {figures}")
    assert max(seconds) < 1
    assert [one.poll() for one in strangers] == [None] * LINEAGES
