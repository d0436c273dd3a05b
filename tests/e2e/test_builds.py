"""A long call that works is left alone, and one that is blocked beside a spinner is ended at the limit, for real."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.puppet import Puppet
from tests.e2e.test_hangs import explained, hook
from tests.ending import A_WHILE
from tests.storage import storage

pytestmark = pytest.mark.slow

KEYS = 'liveness = { stale = "6s", check_interval = "5s" }\nstop = { grace = "0.5s" }\n'
ONCE = 'restart = { policy = "never" }\n'
SECRET = "sk-ant-0123456789abcdefghijkl"
SHORT_LIVED = "awk 'BEGIN { for (i = 0; i < 200000; i++) x += i }'"
WRITES = "head -c 2000000 /dev/zero >OVER.o"
BUILD = (
    f"for job in 1; do (while [ ! -e OVER ] && {A_WHILE}; do {SHORT_LIVED}; done) & done; "
    f"while [ ! -e OVER ] && {A_WHILE}; do {WRITES}; {SHORT_LIVED}; done; wait"
)
"""Compilers that live for a moment: no look at the processes meets most of them. Two at a time, for more
take the processors from the tests beside."""
SPINNER = "import time\nfor _ in range(9999):\n  print(end=chr(13) + 'collecting', flush=True)\n  time.sleep(0.1)"
BLOCKED = (
    f"echo {SECRET} >/dev/null; {shlex.quote(sys.executable)} -c {shlex.quote(SPINNER)} & "
    f"sleep 1000 | {shlex.quote(sys.executable)} -c 'input()'"
)
"""A test that waits for what never comes, and a line that says that it collects."""


def calls(puppet: Puppet, command: str) -> None:
    """A turn begins, and in it a call, as their hooks tell; and then it runs."""
    made = json.dumps({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": command}})
    told = [hook("prompt-submit", "{}"), hook("tool-start", made)]
    puppet.do("\n".join([*told, f"call = subprocess.Popen(['sh', '-c', {command!r}])"]))


@pytest.fixture
def over(stage: Stage) -> Iterator[Path]:
    """A file that ends the build; what that writes beside it counts as work only where there is storage."""
    with storage(stage.root) as place:
        yield (place or stage.root) / "over"


def test_promise_4_a_long_build_completes_at_its_first_try_and_a_blocked_test_dies_at_the_limit(
    stage: Stage, over: Path
) -> None:
    builder, tester = declared(stage, "a"), declared(stage, "b", ONCE)
    stage.up()
    for name in ("a", "b"):
        stage.until_running(name, 1)
    calls(builder, BUILD.replace("OVER", str(over)))
    calls(tester, BLOCKED)
    # Nobody has looked at either call yet: the next daemon learns of both from the shims.
    stage.kill()
    stage.up()

    stage.until("its silence is longer than the limit", lambda: tries(stage, "a") > 1 or silence(stage, "a") > 12)
    assert tries(stage, "a") == 1
    over.touch()
    assert builder.do("out = call.wait(60)") == "0"
    assert builder.do(hook("tool-end", '{"tool_name": "Bash", "tool_use_id": "t1"}')) == "0"
    assert builder.do(hook("stop", "{}")) == "0"
    stage.until("its turn is over", lambda: stage.row("a")["activity"] == "idle")
    assert tries(stage, "a") == 1
    assert "its open call (Bash: for job in" in json.dumps(explained(stage, "a"))

    brief = stage.state / "agents" / "b" / "brief.md"
    stage.until("the blocked test is ended", lambda: stage.row("b")["state"] == "stopped")
    stage.until("its brief tells of it", lambda: "It was in a call of" in brief.read_text())
    told = explained(stage, "b")
    assert (told["last_exit"]["code"], told["last_exit"]["cause"]) == (124, "hung")
    incident = json.loads((stage.state / "agents" / "b" / told["incident"]["file"]).read_text())
    assert incident["call"]["tool"] == "Bash"
    assert incident["call"]["idle"] is None
    assert incident["readings"]["call_worked"] is None
    assert incident["readings"]["call_processes"] >= 2
    assert "It was in a call of Bash, `echo" in brief.read_text()
    assert "declare a timeout" in brief.read_text()
    assert SECRET not in brief.read_text()
    assert SECRET not in json.dumps(incident)


def tries(stage: Stage, name: str) -> int:
    return int(stage.row(name)["incarnation"])


def silence(stage: Stage, name: str) -> float:
    """Seconds since the daemon last heard of an agent's run; 0 where it has not."""
    last = stage.row(name)["last_evidence"]
    return (datetime.now(UTC) - datetime.fromisoformat(last)).total_seconds() if last else 0.0


def declared(stage: Stage, name: str, keys: str = "") -> Puppet:
    """A puppet that does nothing until it is told a call."""
    puppet = Puppet(stage.root / name)
    argv = json.dumps(puppet.argv)
    stage.declare(name, f'[agent.{name}]\nargv = {argv}\ncwd = "/"\n{KEYS}{keys}')
    return puppet
