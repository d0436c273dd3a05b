"""Under hidepid a daemon without root's rights starts, adopts and ends its agents, also those that it cannot see."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.hidden import require_world, without_rights

PROGRAM = Path(__file__).with_name("hidden_agents.py")


def test_hidepid_an_agent_that_is_hidden_is_started_adopted_followed_and_ended() -> None:
    require_world()

    command = without_rights(sys.executable, str(PROGRAM))
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=150)

    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "hidden": [True, True],
        "adopted": [True, [True, True]],
        "of the first run": [False, False],
        "stopped": [0, "stopped"],
        "alive": [False, False, False, False],
        "doctor": True,
    }
