"""The how-to pages about what outlives a session do what they say: every command, in its order."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from phoenixd.demo.stage import Stage

pytestmark = pytest.mark.slow

PATIENCE = 90.0
HERE = Path(__file__).resolve().parent
HOW_TO = HERE.parents[1] / "docs/how-to"


def blocks(page: str) -> list[str]:
    """The blocks of a page that a shell is to run."""
    return re.findall(r"^```sh\n(.*?)^```", (HOW_TO / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def types(stage: Stage, commands: str) -> str:
    """Run a block as an operator with a HOME of his own would; what it prints."""
    phoenixctl = f"{sys.executable} -m phoenixd.ctl --socket {stage.runtime / 'api.sock'}"
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f'phoenixctl() {{ {phoenixctl} "$@"; }}\n{commands}'],
        env={**stage.environ, "HOME": str(stage.root / "home")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, f"{commands}{ran.stdout}{ran.stderr}"
    return ran.stdout


def told(stage: Stage, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stage.ctl(*words, "--json").stdout)
    return found


def test_an_orchestrator_is_declared_handed_over_and_rolled_back_as_the_page_says(stage: Stage) -> None:
    """Every command of docs/how-to/hand-over-an-orchestrator.md."""
    declare, start, begin, call_off, look = blocks("hand-over-an-orchestrator.md")
    work = stage.root / "home/src/shop"
    work.mkdir(parents=True)

    def step() -> str | None:
        handoff = told(stage, "handoff", "status", "boss")["handoff"]
        return str(handoff["step"]) if handoff is not None else None

    stage.up()
    types(stage, declare)
    assert (work / ".claude/projects/shop").is_dir()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    stage.declare(
        "boss",
        f'[agent.boss]\nkind = "orchestrator"\nproject = "shop"\nprompt = "Lead the shop."\ncwd = "{work}"\n'
        f'argv = ["{sys.executable}", "{HERE / "orchestrator.py"}", "{{prompt}}"]\n'
        f'[agent.boss.env]\nPATH = "{path}"\n',
    )
    types(stage, start)
    stage.until("it rests", lambda: stage.row("boss")["activity"] == "idle", PATIENCE)

    (work / "HESITATES").touch()
    assert "generation 1 leads project shop" in types(stage, begin)
    stage.until("a successor waits", lambda: step() == "await_ack", PATIENCE)
    types(stage, call_off)
    stage.until("it is rolled back", lambda: step() == "rolled_back", PATIENCE)
    (work / "HESITATES").unlink()
    assert "rolled back: asked by" in " ".join(types(stage, look).split())
    stage.until("the next one is done", lambda: step() == "done", PATIENCE)
    assert told(stage, "handoff", "status", "boss")["generation"] == 2
    assert stage.ctl("handoff", "rollback", "boss").returncode == 6


def test_an_agent_is_given_codes_and_asked_for_one_as_the_page_says(stage: Stage) -> None:
    """Every command of docs/how-to/notice-a-lost-context.md."""
    switch_on, look, check = blocks("notice-a-lost-context.md")
    work = stage.root / "work"
    work.mkdir()
    (stage.root / "home").mkdir()
    without = (
        f'[agent.builder]\ncwd = "{work}"\nprompt = "Repair the roof."\n'
        f'argv = ["{sys.executable}", "{HERE / "remembering.py"}", "{{prompt}}"]\n'
    )
    stage.declare("builder", without)
    stage.up()
    stage.until("it rests", lambda: stage.row("builder")["activity"] == "idle", PATIENCE)
    assert stage.ctl("resonance", "check", "builder").returncode == 6

    stage.declare("builder", f"{without}[agent.builder.resonance]\nenabled = true\n")
    assert "builder" in types(stage, switch_on)
    stage.until("it rests again", lambda: stage.row("builder")["activity"] == "idle", PATIENCE)
    assert "exit code" not in types(stage, look), "a session without a check so far is no condition"
    types(stage, check)
    stage.until("it is verified", lambda: told(stage, "resonance", "status", "builder")["state"] == "intact", PATIENCE)
