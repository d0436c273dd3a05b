"""A container that is restarted keeps the host's boot id: its agents come back, the stopped ones do not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.hidden import require_world, world

PROGRAM = Path(__file__).with_name("container_agents.py")


def life(root: Path, number: int) -> dict[str, Any]:
    """One start of the container, and its end, which takes all that ran in it."""
    command = world(sys.executable, str(PROGRAM), str(root), str(number), hidepid="0")
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_f_sy_5_a_restarted_container_starts_its_agents_again_and_nobody_is_to_blame(short_tmp: Path) -> None:
    require_world()

    first = life(short_tmp, 1)
    again = life(short_tmp, 2)

    assert first["states"] == {"a": "running", "b": "running", "c": "stopped"}
    assert again["states"] == {"a": "running", "b": "running", "c": "stopped"}
    assert again["incarnations"] == {"a": 2, "b": 2, "c": 1}
    assert any("(reboot), not the agent's doing" in told for told in again["told"]), again
    assert again["alerts"] == {"items": [], "alerts": []}
