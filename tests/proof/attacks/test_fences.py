"""Twenty hostile agents, each within a fence that needs no rights, attack at once what watches them."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.puppet import Puppet
from tests.e2e.test_fence import TRIES
from tests.proof.attacks.conftest import AGENTS
from tests.shim.test_fence import has_fences

pytestmark = pytest.mark.proof
__all__ = ["has_fences"]


def test_promises_3_5_and_7_twenty_hostile_agents_reach_nothing_from_within_their_fences(stage: Stage) -> None:
    names = ["bad", "good", *(f"a{number:02}" for number in range(AGENTS - 2))]
    puppets = {name: Puppet(stage.root / name) for name in names}
    for name, puppet in puppets.items():
        text = f'[agent.{name}]\nargv = {json.dumps(puppet.argv)}\ncwd = "{stage.root}"\nfence = "namespace"\n'
        stage.declare(name, text)
    stage.up()
    rows = {name: stage.until_running(name, 1, patience=120) for name in names}
    assert stage.process is not None
    server = ["tmux", "-S", str(stage.runtime / "tmux.sock"), "display-message", "-p", "#{pid}"]
    common = {
        "daemon": stage.process.pid,
        "terminal": int(subprocess.run(server, capture_output=True, text=True, check=True).stdout),
    }

    def attack(name: str) -> dict[str, str]:
        neighbour = names[(names.index(name) + 1) % AGENTS]
        run = json.loads((stage.state / "agents" / name / "run.json").read_text())
        pids = common | {"shim": run["shim"]["pid"], "neighbour": rows[neighbour]["pid"]}
        places = f"PIDS, NEIGHBOUR, LEAF = {pids!r}, {neighbour!r}, '/sys/fs/cgroup'\n"
        places += f"STATE, RUNTIME = {str(stage.state)!r}, {str(stage.runtime)!r}\n"
        tried: dict[str, str] = eval(puppets[name].do(places + TRIES))
        return tried

    with ThreadPoolExecutor(AGENTS) as pool:
        found = dict(zip(names, pool.map(attack, names), strict=True))

    assert {name: set(tried.values()) for name, tried in found.items()} == {name: {"held"} for name in names}
    assert {name: row["incarnation"] for name, row in stage.rows().items()} == dict.fromkeys(names, 1)
