"""An ordinary user's daemon under hidepid: whose a peer is, where its ancestors cannot be read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hidden import require_world, world

PROGRAM = Path(__file__).with_name("hidden_peers.py")
OPERATOR, DOCS, UNKNOWN = [None, False], ["docs", False], [None, True]


@pytest.mark.parametrize("hidepid", ["2", "1"])
def test_hidepid_a_peer_is_its_agents_or_an_operator_whatever_of_its_ancestors_is_hidden(hidepid: str) -> None:
    """Design section 6: the leaf and the shims decide first; a process that is hidden only ends the way up."""
    require_world()

    ran = subprocess.run(
        world(sys.executable, str(PROGRAM), hidepid=hidepid), capture_output=True, text=True, check=False, timeout=100
    )

    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "below root's sshd": OPERATOR,
        "below the user's own sshd": OPERATOR,
        "root itself": OPERATOR,
        "below a shim": DOCS,
        "below a shim and a hardened program": DOCS,
        "below a shim and sudo": DOCS,
        "below a shim, as root": DOCS,
        "below a shim, sudo and its monitor": UNKNOWN,
        "below root's sshd, older than an agent's sudo": OPERATOR,
        "in an agent's control group, as root": DOCS,
        "below root's sshd, younger than an agent's sudo": UNKNOWN,
        "below root's sshd, beside an agent without one": OPERATOR,
        "started by a hidden terminal server": UNKNOWN,
    }
