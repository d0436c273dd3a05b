"""The real CLIs within the fence that needs no rights: they start, work, are killed, resumed and stopped as ever."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.census import all_ends
from tests.real.agent_stage import NAME, AgentStage
from tests.real.clis import CONTRACTED, Contracted, contracted
from tests.real.installed import require
from tests.shim.test_fence import has_fences
from tests.stub.scenario import Step

pytestmark = pytest.mark.real_claude
__all__ = ["has_fences"]

WORK = """
set -ex
exec 2> trace
touch $HOME/made /tmp/phx-made-{name}
rm /tmp/phx-made-{name}
test ! -e {state}/token.key
{state}/bin/phoenixctl status {name} > seen
cat $PHOENIX_STATE_DIR/brief.md > brief
touch done
"""


@pytest.fixture(params=contracted("claude"))  # The fence is the same for each.
def stage(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[AgentStage]:
    with AgentStage(CONTRACTED[request.param](require(request.param)), short_tmp) as made:
        yield made
    all_ends(short_tmp)


def test_promise_5_a_real_cli_works_within_its_fence_and_is_resumed_and_stopped(stage: AgentStage) -> None:
    cli = stage.cli
    assert isinstance(cli, Contracted)
    (stage.workspace / "work.sh").write_text(WORK.format(state=stage.stage.state, name=NAME))
    stage.scenario.add(cli.shell("sh work.sh"), Step(fault="hang"))
    stage.up(keys='fence = "namespace"')
    first = stage.asked()
    stage.until("its command has run", lambda row: (stage.workspace / "done").exists(), 60)
    stage.asked(after=first.number)
    worked = stage.until("it works", lambda row: row["activity"] == "working" and row["hooks"] == "ok")

    assert os.stat(f"/proc/{worked['pid']}/ns/user").st_ino != os.stat("/proc/self/ns/user").st_ino
    assert NAME in (stage.workspace / "seen").read_text()

    stage.wait_written(worked["session_id"], b"docs/plan")
    stage.kill_agent()

    stage.asked("You were interrupted", after=first.number + 1)
    back = stage.until_idle(incarnation=2)
    assert (back["mode"], back["session_id"]) == ("resume", worked["session_id"])
    assert stage.send("What now?").returncode == 0
    assert f"{NAME}: fence namespace" in stage.stage.ctl("doctor", "--all").stdout
    assert stage.stage.ctl("stop", NAME).returncode == 0
