"""Armed answers through a whole daemon: they outlive it, are given while none lives, and are never armed again."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.arming import ArmingStage, arm
from tests.e2e.census import all_ends
from tests.e2e.puppet import Puppet
from tests.waiting import eventually_sync

pytestmark = pytest.mark.slow

REASON = "Finish here; write down what only you know."
HOOK = """
import json, os, subprocess
ran = subprocess.run([os.environ["PHOENIX_HOOK"], {kind!r}], input=json.dumps({said!r}).encode(), capture_output=True)
out = (ran.returncode, ran.stdout.decode())
"""


class Armed:
    """One puppet, whose hooks are its own."""

    def __init__(self, stage: ArmingStage) -> None:
        self.stage, self.puppet = stage, Puppet(stage.root / "puppet.sock")
        argv = json.dumps(self.puppet.argv)
        stage.declare("a", f'[agent.a]\nargv = {argv}\ncwd = "{os.getcwd()}"\n')
        stage.up()
        stage.until_running("a", 1, patience=60)

    def hook(self, kind: str, **said: Any) -> Any:
        """What the hook program prints to it; None for nothing."""
        code, printed = eval(self.puppet.do(HOOK.format(kind=kind, said=said)))
        assert code == 0
        return json.loads(printed) if printed else None

    def told(self) -> list[str]:
        """The reasons that the journal keeps of it."""
        events = json.loads(self.stage.ask("events", "a", "--all", "--json"))
        return [event["reason"] for event in events["events"]]

    def until_told(self, words: str) -> None:
        self.stage.until(f"the journal says {words}", lambda: any(words in one for one in self.told()), 60)


@pytest.fixture
def stage(short_tmp: Path) -> Iterator[ArmingStage]:
    made = ArmingStage(short_tmp)
    yield made
    made.down()
    all_ends(short_tmp)


def test_promise_1_kill_9_between_arming_and_use_costs_no_answer_and_gives_none_twice(stage: ArmingStage) -> None:
    agent = Armed(stage)
    agent.hook("prompt-submit", prompt=f"Work. {arm('f-1', 'stop', REASON)} {arm('d-1', 'tool', 'No.', times=9)}")
    stage.until_armed("a", "1.stop")
    stage.until_armed("a", "1.tool-start")
    assert "armed      freeze: does not let its turn end, once, for " in stage.ask("explain", "a")

    stage.kill()
    assert agent.hook("stop") == {"decision": "block", "reason": REASON}
    assert agent.hook("stop") is None
    stage.up()

    # By the hello, or by what the shim says until it is noted, whichever is heard first.
    agent.until_told("its turn was not let end")
    agent.until_told("armed again (freeze)")
    assert stage.marks("a") == ["1.tool-start"]
    assert agent.hook("stop") is None
    assert agent.hook("tool-start", tool_name="Task")["hookSpecificOutput"]["permissionDecision"] == "deny"
    agent.until_told("a call of its was denied, as armed (freeze)")
    assert stage.row("a")["incarnation"] == 1


def test_a_turn_that_was_not_let_end_is_at_work_until_it_ends(stage: ArmingStage) -> None:
    agent = Armed(stage)
    agent.hook("prompt-submit", prompt=arm("f-1", "stop", REASON))
    stage.until_armed("a", "1.stop")

    assert agent.hook("stop")["reason"] == REASON
    agent.until_told("its turn was not let end, as armed (freeze)")
    assert stage.row("a")["activity"] == "working"
    assert agent.hook("stop") is None
    stage.until("it is idle", lambda: stage.row("a")["activity"] == "idle", 60)
    # What was spent is told to the shim as noted: it says no more of it.
    assert stage.marks("a") == []


def test_the_end_of_a_run_tells_what_was_used_while_no_daemon_lived(stage: ArmingStage) -> None:
    agent = Armed(stage)
    agent.hook("prompt-submit", prompt=arm("f-1", "stop", REASON))
    stage.until_armed("a", "1.stop")
    stage.kill()
    agent.hook("stop")
    with contextlib.suppress(OSError, ValueError):
        agent.puppet.do("import os; os._exit(3)")
    record = stage.state / "agents" / "a" / "exit.json"
    eventually_sync(record.exists, 60, "its shim has written how it ended")
    stage.up()

    agent.until_told("its turn was not let end, as armed (freeze)")
    stage.until_running("a", 2, patience=60)
    assert stage.marks("a") == []
