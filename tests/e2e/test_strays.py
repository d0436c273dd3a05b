"""What somebody outside of a run's tree started for it outlives the next start by a moment, and is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest

from phoenixd.demo.stage import Stage


@pytest.mark.parametrize("dies_too", [False, True], ids=["the daemon lives", "the daemon dies with the agent"])
def test_promise_5_what_an_outsider_started_is_ended_after_the_next_start_and_told(
    stage: Stage, dies_too: bool
) -> None:
    stage.declare("a", '[agent.a]\nargv = ["sleep", "100000"]\ncwd = "/"\n')
    stage.up()
    first = stage.until_running("a", 1)
    if json.loads(stage.ask("status", "--json"))["daemon"]["tier"] != "cgroup":
        pytest.skip("not run: no control groups here, and so the sweep comes before the start")
    run_id = json.loads((stage.state / "agents" / "a" / "run.json").read_text())["run_id"]
    marks = {"PATH": os.environ["PATH"], "PHOENIX_AGENT": "a", "PHOENIX_RUN_ID": run_id}
    stray = subprocess.Popen(["sleep", "100000"], env=marks)
    try:
        if dies_too:
            assert stage.process is not None
            stage.process.send_signal(signal.SIGSTOP)
        os.kill(first["pid"], signal.SIGKILL)
        if dies_too:
            stage.until("the end is on file", (stage.state / "agents" / "a" / "exit.json").exists)
            assert stray.poll() is None
            stage.kill()
            stage.up()
        second = stage.until_running("a", 2)
        assert stray.wait(60) == -signal.SIGKILL
        words = f"cleanup after run 1: ended 1 process ({stray.pid} sleep: started for run 1 from outside of its tree)"
        stage.until("it is told", lambda: words in stage.ask("events", "a", "--all", "--json"))
        assert stage.row("a")["pid"] == second["pid"]
    finally:
        stray.kill()
        stray.wait()
