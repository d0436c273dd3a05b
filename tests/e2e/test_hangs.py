"""What a hang leads to, with real processes under a real daemon. Seed G's own four tests: test_self_healing.py."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from typing import Any

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.census import incarnations
from tests.e2e.puppet import Puppet

pytestmark = pytest.mark.slow

SECRET = "sk-ant-0123456789abcdefghijkl"
TIME = "+%Y-%m-%dT%H:%M:%SZ"
TWENTY_MINUTES_AGO = f"$(date -u -d '20 minutes ago' {TIME} 2>/dev/null || date -u -v-20M {TIME})"


def beat(stage: Stage, name: str = "a") -> dict[str, Any]:
    record: dict[str, Any] = json.loads((stage.state / "agents" / name / "heartbeat.json").read_text())
    return record


def at_work(stage: Stage, name: str = "a", keys: str = "") -> Puppet:
    """A puppet in the middle of a turn, as its hooks tell."""
    puppet = Puppet(stage.root / name)
    argv = json.dumps(puppet.argv)
    stage.declare(name, f'[agent.{name}]\nargv = {argv}\ncwd = "/"\nprompt = "Build the shop."\n{keys}')
    if stage.process is None:
        stage.up()
    else:
        stage.ask("apply")
    stage.until_running(name, 1)
    said = puppet.do(hook("prompt-submit", '{"prompt": "Build the shop."}'))
    assert said == "0"
    stage.until("it works", lambda: stage.row(name)["activity"] == "working")
    return puppet


def hook(event: str, payload: str) -> str:
    """What an agent's hook runs, as a puppet's source."""
    call = f"[os.environ['PHOENIX_HOOK'], *{event.split()!r}], input={payload!r}, text=True"
    return f"import os, subprocess\nout = subprocess.run({call}).returncode"


def test_g40_p36_a_heartbeat_that_an_earlier_run_left_marks_no_new_run_as_stale(stage: Stage) -> None:
    """Both have an open turn, and both are looked at each second: only the one written after its run began is ended."""
    keys = 'liveness = { check_interval = "1s" }\n'
    left, control = at_work(stage, "a", keys), at_work(stage, "b", keys)
    ago = subprocess.run(["sh", "-c", f"echo {TWENTY_MINUTES_AGO}"], check=True, capture_output=True, text=True)
    old = json.dumps({"timestamp": ago.stdout.strip()})
    path = {name: stage.state / "agents" / name / "heartbeat.json" for name in ("a", "b")}
    with pytest.raises(ValueError, match="Expecting value"):
        left.do(f"import os; open({str(path['a'])!r}, 'w').write({old!r}); os.kill(os.getpid(), 9)")
    stage.until_running("a", 2)
    assert path["a"].read_text() == old, "nothing has written over it"
    control.do(f"open({str(path['b'])!r}, 'w').write({old!r})")
    stage.until("the control is ended as hung", lambda: stage.row("b")["incarnation"] == 2)
    row = stage.row("a")
    assert (row["state"], row["incarnation"]) == ("running", 2)
    assert explained(stage)["incident"] is None


def explained(stage: Stage, name: str = "a") -> dict[str, Any]:
    told: dict[str, Any] = json.loads(stage.ask("explain", name, "--json"))
    return told


def test_g29_a_heartbeat_of_twenty_minutes_ago_ends_the_agent_as_stuck(stage: Stage) -> None:
    """At the limit of 15 minutes that the seed has, and by the command that it gives, on any system's date."""
    at_work(stage, keys='liveness = { check_interval = "1s" }\n')
    path = stage.state / "agents" / "a" / "heartbeat.json"
    subprocess.run(["sh", "-c", f"echo '{{\"timestamp\": \"'{TWENTY_MINUTES_AGO}'\"}}' > {path}"], check=True)
    stage.until_running("a", 2)
    told = explained(stage)
    assert told["last_exit"]["code"] == 124
    assert told["incident"]["kind"] == "hung"


def test_g7_g39_g43_g44_f_proc_11_f_proc_12_a_hang_ends_with_its_tree_and_is_told_to_the_next_run(stage: Stage) -> None:
    keys = (
        'liveness = { stale = "2s", check_interval = "1s" }\nstop = { grace = "0.5s" }\n'
        f'[agent.a.env]\nSHOP_API_KEY = "{SECRET}"\n'
    )
    puppet = at_work(stage, keys=keys)
    puppet.do(
        "import signal, subprocess, sys\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "for number in range(150): print('line', number)\n"
        f"print('the key is {SECRET}')\nprint('waiting for pytest')\nsys.stdout.flush()\n"
        "out = subprocess.Popen(['setsid', 'sleep', '100000']).pid"
    )
    stage.until_running("a", 2)

    assert len(incarnations(stage.root, "a")) == 1
    told = explained(stage)
    assert (told["last_exit"]["code"], told["last_exit"]["cause"]) == (124, "hung")
    incident = json.loads((stage.state / "agents" / "a" / told["incident"]["file"]).read_text())
    assert incident["pane"][-1] == "waiting for pytest"
    assert len(incident["pane"]) == 100
    assert SECRET not in json.dumps(incident)
    assert incident["readings"]["liveness.stale"] == 2
    assert incident["readings"]["silent_for"] >= 2
    assert "incident" in stage.ask("explain", "a")
    brief = (stage.state / "agents" / "a" / "brief.md").read_text()
    assert "Run 1 was ended by phoenixd" in brief
    assert told["incident"]["file"] in brief
    # Before its row is read, for both are of one commit.
    stage.until("the incident is recorded", lambda: "incident_recorded" in kinds_of_events(stage))
    with closing(sqlite3.connect(f"file:{stage.state}/journal.sqlite3?mode=ro", uri=True)) as journal:
        ((body,),) = journal.execute("SELECT body FROM incidents WHERE id = 'a-1-hung'").fetchall()
    assert json.loads(body) == incident


def kinds_of_events(stage: Stage) -> list[str]:
    return [event["event"] for event in json.loads(stage.ask("events", "a", "--all", "--json"))["events"]]


def test_g5_simulating_a_hang_says_what_it_will_do_and_does_it(stage: Stage) -> None:
    at_work(stage)
    assert "no effect" in stage.ask("heartbeat", "simulate", "a", "--age", "5m")
    said = stage.ask("heartbeat", "simulate", "a", "--age", "20m")
    assert "ended as hung" in said
    stage.until_running("a", 2)
    assert explained(stage)["last_exit"]["code"] == 124


TOLD_OFTEN = """
import datetime, json, os, subprocess, threading, time
path = os.path.join(os.environ["PHOENIX_STATE_DIR"], "heartbeat.json")
beats, is_over = 0, threading.Event()

def work():
    global beats
    while not is_over.wait(0.2):
        subprocess.run([os.environ["PHOENIX_HOOK"], "tool-end"], input='{"tool_name": "Read"}', text=True)
        now = datetime.datetime.now(datetime.timezone.utc)
        stamp = CLAIM
        with open(path + ".new", "w") as new:
            json.dump({"timestamp": stamp}, new)
        os.rename(path + ".new", path)
        beats += 1

threading.Thread(target=work, daemon=True).start()
"""


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param("(now - datetime.timedelta(hours=1)).isoformat()", id="an hour old"),
        pytest.param("'1970-01-01T00:00:00Z'", id="1970", marks=pytest.mark.proof),
    ],
)
def test_promise_4_f_hb_3_a_timestamp_of_a_wrong_clock_is_told_once_and_ends_nobody(stage: Stage, claim: str) -> None:
    """The agent works, hook by hook; its heartbeat is local time with a Z, or a container's."""
    puppet = at_work(stage, keys='liveness = { stale = "3s", check_interval = "0.5s" }\n')
    puppet.do(TOLD_OFTEN.replace("CLAIM", claim))
    stage.until("it is told", lambda: "clock" in [one["kind"] for one in stage.row("a")["alerts"]])
    beats = int(puppet.do("out = beats"))
    stage.until("it beat thirty times more", lambda: int(puppet.do("out = beats")) >= beats + 30)

    row = stage.row("a")
    assert (row["incarnation"], row["activity"]) == (1, "working")
    told = [one for one in json.loads(stage.ask("events", "a", "--json"))["events"] if one["event"] == "alert_raised"]
    assert [one["detail"]["kind"] for one in told] == ["clock"]
