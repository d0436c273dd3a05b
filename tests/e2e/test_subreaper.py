"""Tier subreaper: an agent that kills its shim gets no new rights, doubles nothing, and is swept by its mark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.hidden import require_world, world

PROGRAM = Path(__file__).with_name("subreaper_agents.py")


def test_promise_2_and_5_an_agent_that_kills_its_shim_gets_no_rights_and_is_swept_by_its_mark() -> None:
    require_world()

    command = world(sys.executable, str(PROGRAM), hidepid="0")
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)

    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "tier": "subreaper",
        "asked": True,
        "allowed": False,
        "told": True,
        "stopped": [0, "stopped"],
        "swept": -9,
        "good": ["running", 1],
        "doctor": True,
    }
