"""Deaths, stops and clean ends, through a real daemon."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from phoenixd.demo.stage import Stage
from tests.e2e.census import incarnations, survivors
from tests.ending import A_WHILE

SLEEP = 'argv = ["sleep", "100000"]\ncwd = "/"\n'


def declare(stage: Stage, name: str, body: str = SLEEP, *, more: str = "") -> None:
    stage.declare(name, f"[agent.{name}]\n{body}{more}")


def test_p39_x20_f_proc_1_a_killed_agent_is_back_in_a_new_incarnation(stage: Stage) -> None:
    declare(stage, "a")
    stage.up()
    first = stage.until_running("a", 1)
    os.kill(first["pid"], signal.SIGKILL)
    second = stage.until_running("a", 2)
    assert second["pid"] != first["pid"]
    assert len(incarnations(stage.root, "a")) == 1


def test_p53_p54_exit_zero_stays_down_also_over_a_restart_of_the_daemon(stage: Stage) -> None:
    leave = stage.root / "leave"
    wait = f"while [ ! -e {leave} ] && {A_WHILE}; do sleep 0.05; done"
    body = f'argv = ["sh", "-c", {json.dumps(wait)}]\ncwd = "/"\n'
    declare(stage, "a", body, more='[agent.a.restart]\nearly_exit = "0s"\n')
    stage.up()
    stage.until_running("a", 1)
    leave.touch()
    stage.until("it stopped", lambda: stage.row("a")["state"] == "stopped")
    marker = json.loads((stage.state / "agents" / "a" / ".clean-exit").read_text())
    record = json.loads((stage.state / "agents" / "a" / "exit.json").read_text())
    assert (marker["run_id"], record["code"]) == (record["run_id"], 0)
    stage.kill()
    stage.up()
    row = stage.row("a")
    assert (row["state"], row["desired"], row["incarnation"]) == ("stopped", "stopped", 1)


def test_f_proc_10_exit_zero_at_once_is_a_failed_start_with_what_its_terminal_showed(stage: Stage) -> None:
    """As a declined trust dialog ends, or a flag that the program does not know: it is not tried for ever."""
    shows = "printf 'Do you trust %s? No, exit' the-folder"
    body = f'argv = ["sh", "-c", {json.dumps(shows)}]\ncwd = "/"\n'
    declare(stage, "a", body, more="[agent.a.restart]\nmax_crashes = 2\n")
    stage.up()
    stage.until("it was given up", lambda: stage.row("a")["state"] == "quarantined")

    row, copies = stage.row("a"), stage.state / "agents" / "a" / "incidents"
    assert row["incarnation"] == 2
    assert "exit 0 within 10 s of the start, a crash" in row["reason"]

    def texts() -> str:
        return "".join(path.read_text() for path in copies.glob("*.json"))

    stage.until("its end is written down", lambda: "Do you trust the-folder? No, exit" in texts())


def test_p57_start_and_restart_bring_a_cleanly_stopped_agent_back(stage: Stage) -> None:
    declare(stage, "a")
    stage.up()
    stage.until_running("a", 1)
    stage.ask("stop", "a")
    assert stage.row("a")["state"] == "stopped"
    stage.ask("restart", "a")
    stage.until_running("a", 2)


def test_f_proc_4_a_stopped_agent_stays_stopped_over_kill_9_of_the_daemon(stage: Stage) -> None:
    declare(stage, "a")
    stage.up()
    stage.until_running("a", 1)
    stage.ask("stop", "a")
    stage.kill()
    stage.up()
    assert stage.row("a")["state"] == "stopped"
    assert not incarnations(stage.root, "a")


def test_x25_f_sy_1_agents_live_through_kill_9_of_the_daemon_and_are_adopted(stage: Stage) -> None:
    names = [f"a{number}" for number in range(5)]
    for name in names:
        declare(stage, name)
    stage.up()
    before = {name: stage.until_running(name, 1)["pid"] for name in names}
    stage.kill()
    stage.up()
    after = {name: stage.until_running(name, 1)["pid"] for name in names}
    assert before == after


def test_f_proc_1_an_agent_that_died_while_the_daemon_was_down_is_brought_back(stage: Stage) -> None:
    declare(stage, "a")
    stage.up()
    pid = stage.until_running("a", 1)["pid"]
    stage.kill()
    os.kill(pid, signal.SIGKILL)
    stage.up()
    stage.until_running("a", 2)
    assert len(incarnations(stage.root, "a")) == 1


def test_g62_f_proc_9_a_missing_binary_is_quarantined_after_one_start_and_named(stage: Stage) -> None:
    declare(stage, "a", 'argv = ["no-such-binary-anywhere"]\ncwd = "/"\n')
    stage.up()
    stage.until("quarantine", lambda: stage.row("a")["state"] == "quarantined")
    row = stage.row("a")
    assert row["incarnation"] == 1
    assert "no-such-binary-anywhere" in row["reason"]


def test_p59_f_proc_8_five_crashes_quarantine_and_start_lifts_it(stage: Stage) -> None:
    declare(
        stage, "a", 'argv = ["false"]\ncwd = "/"\n', more='[agent.a.restart]\nbackoff_initial = "0s"\nmax_crashes = 5\n'
    )
    stage.up()
    stage.until("quarantine", lambda: stage.row("a")["state"] == "quarantined")
    assert stage.row("a")["incarnation"] == 5
    items = json.loads(stage.ask("inbox", "--json"))
    assert [(item["agent"], item["kind"]) for item in items["items"]] == [("a", "quarantined")]
    stage.ask("start", "a")
    stage.until("the next try", lambda: stage.row("a")["incarnation"] > 5)


def test_f_proc_19_ten_ways_to_escape_end_with_stop_and_strangers_live(stage: Stage) -> None:
    place = stage.root / "escapes"
    place.mkdir()
    program = Path(__file__).with_name("escapes.py")
    declare(
        stage,
        "a",
        f'argv = ["{sys.executable}", "{program}", "{place}"]\ncwd = "/"\n',
        more='[agent.a.stop]\ngrace = "0.2s"\n',
    )
    stranger = subprocess.Popen(["sleep", "100000"])
    try:
        stage.up()
        stage.until("all escapes were made", (place / "all").exists)
        pids = {path.name: int(path.read_text()) for path in place.iterdir()}
        assert len(pids) == 11
        stage.ask("stop", "a")
        alive = {name for name, pid in pids.items() if _lives(pid)}
        assert alive == set()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_down_with_agents_leaves_no_process_behind(stage: Stage) -> None:
    for name in ("a", "b"):
        declare(stage, name)
    stage.up()
    stage.until_running("a", 1)
    stage.ask("down", "--agents")
    stage.until("all processes are gone", lambda: not survivors(stage.root))


def test_f_res_8_an_agent_whose_directory_comes_late_starts_as_soon_as_it_is_there(stage: Stage) -> None:
    """A mount that comes late, or `mkdir`: nobody has to think of a start. What is missing is told meanwhile."""
    place = stage.root / "late" / "shop"
    declare(stage, "a", f'argv = ["sleep", "100000"]\ncwd = "{place}"\n')
    stage.up()
    stage.until("it was given up", lambda: stage.row("a")["state"] == "quarantined")
    told = " ".join(stage.ctl("status", "a").stdout.split())
    assert f"mkdir -p {place}" in told
    assert "starts by itself once that can be entered" in told
    place.mkdir(parents=True)
    row = stage.until_running("a", stage.row("a")["incarnation"] + 1, patience=90.0)
    assert Path(f"/proc/{row['pid']}/cwd").resolve() == place.resolve()
    assert "can be entered now" in stage.ask("events", "a", "--all")
