"""Twenty agents whose links are stolen and whose hooks are besieged: none is lost, and every question is seen."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.puppet import Puppet
from tests.e2e.test_deaf import ASKS, steal, wait_for_loss
from tests.proof.attacks.conftest import AGENTS

pytestmark = [pytest.mark.proof, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[3]
PATIENCE = 240.0
NAMES = [f"a{number}" for number in range(AGENTS)]
HALF = b"POST /hook/stop HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture
def fleet(stage: Stage) -> dict[str, Puppet]:
    stage.environ = {**stage.environ, "PYTHONPATH": str(ROOT)}
    puppets = {name: Puppet(stage.root / f"{name}.sock") for name in NAMES}
    for name, puppet in puppets.items():
        rules = 'restart = { early_exit = "0s", productive = "0s" }'
        stage.declare(name, f'[agent.{name}]\nargv = {json.dumps(puppet.argv)}\ncwd = "/"\n{rules}\n')
    stage.up()
    stage.until("all run", lambda: all(row["state"] == "running" for row in stage.rows().values()), PATIENCE)
    for puppet in puppets.values():
        puppet.do("pass")
    return puppets


@contextlib.contextmanager
def siege(stage: Stage) -> Iterator[None]:
    """Two for each agent who say half a request, and come again whenever they are turned away."""
    over = threading.Event()

    def press(path: str) -> None:
        while not over.is_set():
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as line:
                line.settimeout(5)
                line.connect(path)
                line.sendall(HALF)
                line.recv(1024)

    paths = [str(stage.runtime / "agents" / name / "hook.sock") for name in NAMES for _ in range(2)]
    crowd = [threading.Thread(target=press, args=(path,)) for path in paths]
    for one in crowd:
        one.start()
    try:
        yield
    finally:
        over.set()
        for one in crowd:
            one.join()


def test_promise_10_thefts_of_every_link_under_a_siege_of_every_endpoint_leave_no_agent_unheard(
    stage: Stage, fleet: dict[str, Puppet]
) -> None:
    before = {name: row["pid"] for name, row in stage.rows().items()}

    def rob(name: str) -> None:
        for _ in range(6):
            wait_for_loss(steal(stage.runtime / "agents" / name / "link.sock"))

    with siege(stage), ThreadPoolExecutor(AGENTS) as thieves:
        list(thieves.map(rob, NAMES))
        assert list(thieves.map(lambda name: fleet[name].do(ASKS), NAMES)) == ["0"] * AGENTS
    stage.until(
        "every question is seen", lambda: all(row["activity"] == "waiting" for row in stage.rows().values()), PATIENCE
    )
    after = stage.rows()
    assert {name: row["pid"] for name, row in after.items()} == before
    assert all(row["hooks"] == "ok" for row in after.values())


def test_promise_10_whoever_stays_deaf_is_told_of_once_and_ended_by_nobody(
    stage: Stage, fleet: dict[str, Puppet]
) -> None:
    before = {name: row["pid"] for name, row in stage.rows().items()}
    held = []
    for name in NAMES:
        path = stage.runtime / "agents" / name / "link.sock"
        path.rename(path.with_name("aside.sock"))
        held.append(steal(path.with_name("aside.sock")))

    def told() -> bool:
        rows = stage.rows().values()
        return all([alert["kind"] for alert in row["alerts"]] == ["link lost"] for row in rows)

    stage.until("each is told of", told, PATIENCE)
    assert {name: row["pid"] for name, row in stage.rows().items()} == before
    for name in NAMES:
        path = stage.runtime / "agents" / name / "link.sock"
        path.with_name("aside.sock").rename(path)
    stage.until(
        "all are heard again",
        lambda: all(row["hooks"] != "lost" and not row["alerts"] for row in stage.rows().values()),
        PATIENCE,
    )
    for thief in held:
        wait_for_loss(thief)
    assert {name: row["pid"] for name, row in stage.rows().items()} == before
    raised = json.loads(stage.ctl("events", "--json", "--all", "--since", "1h").stdout)["events"]
    kinds = [event["agent"] for event in raised if event["event"] == "alert_raised"]
    assert sorted(kinds) == sorted(NAMES)
