"""Promise 10: to take an agent's link away leaves no daemon deaf to it for good, and what is not heard is shown.

The thief is a process that no agent started, and speaks as a daemon does.
"""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.puppet import Puppet

pytestmark = pytest.mark.slow

PATIENCE = 90.0
ASKS = (
    "import os, subprocess\nout = subprocess.run([os.environ['PHOENIX_HOOK'], 'permission-request'], text=True, "
    'input=\'{"tool_name": "Bash", "tool_input": {"command": "make"}}\').returncode'
)


def steal(path: Path) -> socket.socket:
    """Take the place of the daemon at a shim."""
    thief = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    thief.settimeout(PATIENCE)
    thief.connect(str(path))
    thief.send(json.dumps({"op": "hello", "protocol": 1, "version": "0.1.0"}).encode())
    assert json.loads(thief.recv(65536))["event"] == "hello"
    return thief


def wait_for_loss(thief: socket.socket) -> None:
    """Until somebody has taken the place back."""
    try:
        while thief.recv(65536):
            pass
    except ConnectionResetError:
        pass
    thief.close()


@pytest.fixture
def puppet(stage: Stage) -> Puppet:
    made = Puppet(stage.root / "a.sock")
    rules = 'restart = { early_exit = "0s", productive = "0s" }'
    stage.declare("a", f'[agent.a]\nargv = {json.dumps(made.argv)}\ncwd = "/"\n{rules}\n')
    stage.up()
    stage.until_running("a", 1)
    made.do("pass")
    return made


def test_promise_10_six_link_thefts_in_a_row_leave_no_daemon_deaf(stage: Stage, puppet: Puppet) -> None:
    for _ in range(6):
        wait_for_loss(steal(stage.runtime / "agents/a/link.sock"))
    assert puppet.do(ASKS) == "0"
    stage.until("its question is seen", lambda: stage.row("a")["activity"] == "waiting", PATIENCE)
    assert stage.row("a")["incarnation"] == 1
    stage.ask("stop", "a")


def test_promise_10_a_lost_link_is_shown_and_found_again(stage: Stage, puppet: Puppet) -> None:
    path, aside = stage.runtime / "agents/a/link.sock", stage.runtime / "agents/a/aside.sock"
    path.rename(aside)
    thief = steal(aside)
    stage.until("the loss is shown", lambda: stage.row("a")["hooks"] == "lost", PATIENCE)
    assert stage.row("a")["link_lost_since"] is not None
    assert "deaf" in stage.ctl("status").stdout
    findings = json.loads(stage.ctl("doctor", "--json").stdout)["findings"]
    assert any("nothing that it says arrives" in one["title"] for one in findings if one["level"] == "problem")
    assert puppet.do(ASKS) == "0"
    aside.rename(path)
    stage.until("it is heard again", lambda: stage.row("a")["activity"] == "waiting", PATIENCE)
    stage.until("the link is known to be well", lambda: stage.row("a")["hooks"] == "ok", PATIENCE)
    row = stage.row("a")
    assert (row["link_lost_since"], row["incarnation"]) == (None, 1)
    wait_for_loss(thief)
    stage.ask("stop", "a")


def test_promise_1_a_living_agent_whose_link_was_removed_is_adopted_by_the_next_daemon(
    stage: Stage, puppet: Puppet
) -> None:
    shutil.rmtree(stage.runtime / "agents/a")
    stage.kill()
    stage.up()
    assert (stage.row("a")["state"], stage.row("a")["incarnation"]) == ("running", 1)
    stage.kill()
    (stage.runtime / "agents/a/link.sock").unlink()
    stage.up()
    assert puppet.do(ASKS) == "0"
    stage.until("its question is seen", lambda: stage.row("a")["activity"] == "waiting", PATIENCE)
    row = stage.row("a")
    assert (row["hooks"], row["link_lost_since"], row["incarnation"]) == ("ok", None, 1)
    stage.ask("stop", "a")
