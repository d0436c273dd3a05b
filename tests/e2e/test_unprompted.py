"""A program that reports by hooks and that nobody prompts: its next run is idle until it tells of a prompt."""

from __future__ import annotations

import json
import os
import signal

import pytest

from phoenixd.demo.stage import Stage

pytestmark = pytest.mark.slow

PROGRAM = """
tell() { printf '%s' "$2" | "$PHOENIX_HOOK" $1 > /dev/null; }
tell session-start '{}'
if [ "$PHOENIX_INCARNATION" = 1 ]; then
    tell prompt-submit '{"prompt": "perm"}'
    tell notification '{"notification_type": "permission_prompt", "message": "May I?"}'
fi
exec sleep 100000
"""


@pytest.mark.parametrize("again", ["restart", "kill"])
def test_f_proc_14_a_run_that_nobody_prompts_is_idle_and_never_hung_whatever_the_run_before_was_at(
    stage: Stage, again: str
) -> None:
    """A neighbour whose turn is open is ended by the same limit, so the limit is over for both."""
    program = stage.root / "program.sh"
    program.write_text(PROGRAM)
    keys = f'cwd = "{os.getcwd()}"\nliveness = {{ stale = "2s", check_interval = "1s" }}\n'
    stage.declare("a", f"[agent.a]\nargv = {json.dumps(['sh', str(program)])}\n{keys}")
    open_turn = "printf '{}' | \"$PHOENIX_HOOK\" prompt-submit; exec sleep 100000"
    stage.declare(
        "control", f"[agent.control]\nautostart = false\nargv = {json.dumps(['sh', '-c', open_turn])}\n{keys}"
    )
    stage.up()
    stage.until("it asks", lambda: stage.row("a")["activity"] == "waiting")
    if again == "restart":
        stage.ask("restart", "a", "--wait")
    else:
        os.kill(stage.row("a")["pid"], signal.SIGKILL)
    stage.until_running("a", 2)
    stage.until("its hooks are heard", lambda: stage.row("a")["activity"] == "idle")

    stage.ask("start", "control")
    stage.until("the control is ended as hung", lambda: stage.row("control")["incarnation"] >= 2)
    row = stage.row("a")
    assert (row["state"], row["incarnation"], row["activity"]) == ("running", 2, "idle")
