"""The order goes out before the documents: a program never meets another run's brief, whatever dies meanwhile."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage

pytestmark = pytest.mark.slow

PROGRAM = """
cat "$PHOENIX_BRIEF" > "$1/brief.$PHOENIX_INCARNATION"
if [ -e "$1/daemon" ]; then kill -9 "$(cat "$1/daemon")"; rm "$1/daemon"; fi
echo '{}' | "$PHOENIX_HOOK" session-start --text > "$1/between"
mv "$1/between" "$1/told.$PHOENIX_INCARNATION"
exec sleep 100000
"""


def declare(stage: Stage, *names: str) -> None:
    program = stage.root / "program.sh"
    program.write_text(PROGRAM)
    for name in names:
        (stage.root / name).mkdir()
        argv = json.dumps(["sh", str(program), str(stage.root / name)])
        goal = f'prompt = "The goal of {name}."\nprompt_via = "none"\n'
        stage.declare(name, f'[agent.{name}]\nargv = {argv}\ncwd = "{os.getcwd()}"\n{goal}')


def told(stage: Stage, name: str, incarnation: int) -> str:
    place: Path = stage.root / name / f"told.{incarnation}"
    stage.until(f"run {incarnation} of {name} was told something", place.exists, 60)
    return place.read_text()


def test_a_program_finds_its_brief_at_its_first_instruction_and_its_hook_that_of_its_own_run(stage: Stage) -> None:
    declare(stage, "a", "b", "c")
    stage.up()
    for name in ("a", "b", "c"):
        assert f"The goal of {name}." in told(stage, name, 1)
    for number in (2, 3):
        for name in ("a", "b", "c"):
            os.kill(stage.until_running(name, number - 1, patience=60)["pid"], signal.SIGKILL)
        for name in ("a", "b", "c"):
            heard = told(stage, name, number)
            assert f"The goal of {name}." in heard
            assert heard != told(stage, name, number - 1)
            assert f"The goal of {name}." in (stage.root / name / f"brief.{number}").read_text()


def test_a_daemon_that_is_killed_between_order_and_brief_costs_a_late_brief_and_never_an_old_one(stage: Stage) -> None:
    declare(stage, "a")
    stage.up()
    first = told(stage, "a", 1)
    assert stage.process is not None
    (stage.root / "a" / "daemon").write_text(str(stage.process.pid))

    os.kill(stage.until_running("a", 1, patience=60)["pid"], signal.SIGKILL)
    heard = told(stage, "a", 2)
    stage.process.wait()
    assert heard != first
    assert "is late" in heard or "SIGKILL" in heard
    stage.up()

    place = stage.state / "agents" / "a" / "session-start.2.txt"
    stage.until("the next daemon has written it", lambda: place.exists() and "The goal of a." in place.read_text(), 60)
    assert stage.until_running("a", 2, patience=60)["incarnation"] == 2
