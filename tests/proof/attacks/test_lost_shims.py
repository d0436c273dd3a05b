"""Every shim of twenty agents is killed at once: each agent comes back once, and who was stopped stays stopped."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from tests.hidden import require_world, world
from tests.proof.attacks.lost_shims import HOW, WANTED, play

pytestmark = [pytest.mark.proof, pytest.mark.timeout(900)]

PROGRAM = Path(__file__).with_name("lost_shims.py")


def as_wanted(found: dict[str, object], tier: str, waited: list[str]) -> None:
    assert found == {
        "tier": tier,
        "looked": True,
        "doubled": [],
        "risen": [],
        "waited": waited,
        "incarnations": [2],
        "off": ["stopped"],
    }


@pytest.mark.parametrize("how", HOW)
def test_promises_2_and_3_every_shim_is_killed_at_once_and_each_agent_runs_once(stage: Stage, how: str) -> None:
    found = play(stage, how)

    if found["tier"] != "cgroup":
        pytest.skip(f"not run: no control groups here, the tier is {found['tier']}")
    as_wanted(found, "cgroup", [])


@pytest.mark.parametrize("how", HOW)
def test_promises_2_and_3_without_control_groups_each_agent_waits_for_what_nothing_proves_gone(how: str) -> None:
    require_world()

    command = world(sys.executable, str(PROGRAM), how, hidepid="0")
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=840)

    assert ran.returncode == 0, ran.stderr
    as_wanted(json.loads(ran.stdout), "subreaper", WANTED)
