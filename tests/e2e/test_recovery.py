"""P1: an agent survives the end of its context, of its process and of its session, and knows what it was at."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.puppet import Puppet
from tests.e2e.test_hangs import at_work, hook

pytestmark = pytest.mark.slow


def told_at_session_start(puppet: Puppet, source: str) -> str:
    """What the hook of a session's start prints for the model."""
    call = "[os.environ['PHOENIX_HOOK'], 'session-start']"
    payload = json.dumps({"session_id": "s", "source": source})
    return puppet.do(
        f"import os, subprocess\nout = subprocess.run({call}, input={payload!r}, capture_output=True, text=True).stdout"
    )


def works_again(stage: Stage, puppet: Puppet) -> bool:
    assert puppet.do(hook("prompt-submit", '{"prompt": "Build the shop."}')) == "0"
    stage.until("it works again", lambda: stage.row("a")["activity"] == "working")
    return True


def test_p1_compaction_sigkill_and_a_refused_resume_end_with_an_agent_at_work_that_has_its_brief(stage: Stage) -> None:
    """Three ways to lose a session, one after the other, and P9: last_active moves with the hooks of each."""
    puppet = at_work(stage, keys='resume = { refused_within = "30s" }\n')
    stage.until("last_active is told", lambda: bool(last_active(stage)))
    began = last_active(stage)

    assert puppet.do(hook("compacted", "{}")) == "0"
    assert "Build the shop." in told_at_session_start(puppet, "compact")
    assert works_again(stage, puppet)

    assert puppet.do("import os, threading; threading.Timer(0.1, os.kill, (os.getpid(), 9)).start()") == "None"
    assert stage.until_running("a", 2)["mode"] == "resume"
    # By its own end, soon after its start: the resume is taken for refused, and what follows is fresh.
    assert puppet.do("import os, threading; threading.Timer(0.1, os._exit, (1,)).start()") == "None"
    assert stage.until_running("a", 3)["mode"] == "fresh"
    assert "Build the shop." in told_at_session_start(puppet, "startup")
    assert works_again(stage, puppet)
    # It has whole seconds.
    stage.until("last_active has moved", lambda: works_again(stage, puppet) and last_active(stage) > began)


def last_active(stage: Stage) -> str:
    """As state.json has it; empty until it was first written."""
    path = stage.state / "agents" / "a" / "state.json"
    moment: str | None = json.loads(path.read_text())["last_active"] if path.exists() else None
    return moment or ""


def test_p45_two_kills_from_outside_within_seconds_leave_an_agent_its_session(stage: Stage) -> None:
    """Who kills it says nothing of its session: it is resumed both times, though no run lived for long."""
    at_work(stage)
    session = stage.row("a")["session_id"]
    for incarnation in (2, 3):
        os.kill(stage.row("a")["pid"], signal.SIGKILL)
        row = stage.until_running("a", incarnation, patience=60.0)
        assert (row["mode"], row["session_id"]) == ("resume", session), row["reason"]


def state_of(stage: Stage) -> Path:
    return stage.state / "agents" / "a" / "state.json"


def test_p18_p35_every_kind_of_session_start_is_told_the_brief_whatever_became_of_state_json(stage: Stage) -> None:
    """P43: on every one of them."""
    puppet = at_work(stage)
    path = state_of(stage)
    stage.until("it is written", path.exists)
    for number, source in enumerate(("startup", "resume", "clear", "compact", "fork", "a kind of later releases")):
        if number % 2:
            path.unlink(missing_ok=True)
        else:
            path.write_text('{"agent": "a", "open_')
        assert "Build the shop." in told_at_session_start(puppet, source), source
        assert puppet.do(hook("session-start", json.dumps({"session_id": "s", "source": source}))) == "0"
    stage.until("it is rebuilt", lambda: '"Build the shop."' in path.read_text() if path.exists() else False)


def test_p69_p71_x9_a_killed_agent_that_stays_down_is_told_as_failed_and_not_as_at_work(stage: Stage) -> None:
    """No hook tells of this end: its session began, and never ended."""
    at_work(stage, keys='restart = { policy = "never" }\n')

    def status() -> str:
        return str(json.loads(state_of(stage).read_text())["status"]) if state_of(stage).exists() else ""

    stage.until("its turn is told", lambda: status() == "working")
    os.kill(stage.row("a")["pid"], signal.SIGKILL)
    stage.until("its end is told", lambda: status() == "error")
    row = stage.row("a")
    assert (row["state"], row["incarnation"]) == ("stopped", 1)
    assert "SIGKILL" in row["reason"]
