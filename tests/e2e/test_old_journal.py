"""A journal that is behind the world: what lives is adopted, what was stopped on purpose stays so, and it is told."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import sys
import time
from pathlib import Path

import anyio
import pytest

from phoenixd.demo.stage import Stage
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.runtime.recovery import BOOT_KEY
from tests.e2e.census import incarnations
from tests.e2e.test_answers import Asking
from tests.e2e.test_lifecycle import declare
from tests.ending import A_WHILE
from tests.typed import typed

pytestmark = pytest.mark.slow

LONG = 60.0
PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/recover-an-old-journal.md"
FILES = ("journal.sqlite3", "journal.sqlite3-wal", "journal.sqlite3-shm")


def lose(stage: Stage) -> None:
    for name in FILES:
        (stage.state / name).unlink(missing_ok=True)


def copy_of(stage: Stage) -> Path:
    """A backup as somebody takes one who knows the journal's log."""
    place = stage.root / "backup"
    place.mkdir()
    for name in FILES[:2]:
        if (stage.state / name).exists():
            shutil.copy2(stage.state / name, place / name)
    return place


def put_back(stage: Stage, backup: Path) -> None:
    lose(stage)
    for file in backup.iterdir():
        shutil.copy2(file, stage.state / file.name)


def make_older(stage: Stage) -> None:
    """As if the copy had been made before the machine was last started."""

    async def change() -> None:
        with SqliteJournal(stage.state / "journal.sqlite3") as journal:
            await journal.remember(BOOT_KEY, "00000000-0000-4000-8000-000000000000")

    anyio.run(change)


def alerts(stage: Stage) -> list[str]:
    return [one["kind"] for one in json.loads(stage.ask("status", "--json"))["daemon"]["alerts"]]


def is_as_it_was(stage: Stage, pids: dict[str, int], off: str, incarnation: int) -> None:
    """Nobody was killed or doubled, the stopped one is down, and it is told: status, doctor, plan."""
    rows = stage.rows()
    assert {name: rows[name]["pid"] for name in pids} == pids
    for name in pids:
        assert rows[name]["state"] == "running"
        assert len(incarnations(stage.root, name)) == 1
    assert (rows[off]["state"], rows[off]["desired"]) == ("stopped", "stopped")
    assert not incarnations(stage.root, off)
    assert rows["b"]["incarnation"] == incarnation
    assert alerts(stage) == ["journal behind"]
    assert typed(stage, "recover") in " ".join(stage.ask("status").split())
    doctor = stage.ctl("doctor")
    assert (doctor.returncode, f"do: {typed(stage, 'recover')}" in doctor.stdout) == (3, True)
    plan = {one["agent"]: one for one in json.loads(stage.ask("recover", "--json"))["agents"]}
    assert set(plan) == {*pids, off}
    assert plan["b"]["verdict"] == "adopt"
    assert not any(one["waits"] for one in plan.values())


def confirm(stage: Stage) -> None:
    """The commands of the page; the last one ends the matter."""
    commands = re.findall(r"^phoenixctl (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert commands[-1] == "recover --yes"
    for command in commands:
        answer = stage.ask(*command.split())
    # What was done, and nothing more to do.
    assert answer.startswith("Done. Nothing is left to be recovered.")
    assert typed(stage, "recover") not in " ".join(answer.split())
    assert alerts(stage) == []
    assert not json.loads(stage.ask("recover", "--json"))["behind"]


def test_promises_3_and_9_an_old_journal_and_a_lost_one_kill_nobody_and_start_nothing_that_was_stopped(
    stage: Stage,
) -> None:
    """The page is recover-an-old-journal.md. A lost journal is no first start."""
    for name in ("a", "b", "c"):
        declare(stage, name)
    stage.up()
    for name in ("a", "b", "c"):
        stage.until_running(name, 1, patience=LONG)
    stage.kill()
    backup = copy_of(stage)
    stage.up()
    os.kill(stage.row("b")["pid"], signal.SIGKILL)
    pids = {"b": stage.until_running("b", 2, patience=LONG)["pid"], "a": stage.row("a")["pid"]}
    stage.ask("stop", "c")

    stage.kill()
    put_back(stage, backup)
    make_older(stage)
    stage.up()
    is_as_it_was(stage, pids, "c", 2)
    # Also over a start in between: nothing was confirmed yet.
    stage.kill()
    stage.up()
    is_as_it_was(stage, pids, "c", 2)
    confirm(stage)

    os.kill(pids["b"], signal.SIGKILL)
    pids["b"] = stage.until_running("b", 3, patience=LONG)["pid"]
    stage.kill()
    lose(stage)
    stage.up()
    is_as_it_was(stage, pids, "c", 3)
    confirm(stage)
    stage.kill()
    stage.up()
    assert alerts(stage) == []
    os.kill(pids["b"], signal.SIGKILL)
    stage.until_running("b", 4, patience=LONG)


def test_promise_9_whoever_stopped_an_agent_without_a_run_is_remembered_when_the_state_directory_goes_back_at_once(
    stage: Stage,
) -> None:
    """Wishes and all. The shims alone are newer, and the daemon was killed as soon as it had answered."""
    never = '[agent.a]\nargv = ["false"]\ncwd = "/"\n[agent.a.restart]\nbackoff_initial = "10m"\nbackoff_max = "1h"\n'
    stage.declare("a", never)
    declare(stage, "b")
    stage.up()
    stage.until("it waits for its next start", lambda: stage.row("a")["state"] == "backing_off", LONG)
    pid = stage.until_running("b", 1, patience=LONG)["pid"]
    stage.kill()
    backup = stage.root / "backup"
    shutil.copytree(stage.state, backup)
    stage.up()
    stage.ask("stop", "a")
    stage.kill()
    for name in (*FILES, "epoch", "agents/a/wish.json", "agents/b/wish.json"):
        (stage.state / name).unlink(missing_ok=True)
        if (backup / name).exists():
            shutil.copy2(backup / name, stage.state / name)
    stage.up()
    rows = stage.rows()
    assert (rows["a"]["state"], rows["a"]["desired"]) == ("stopped", "stopped")
    assert (rows["b"]["state"], rows["b"]["pid"]) == ("running", pid)
    assert alerts(stage) == ["journal behind"]


@pytest.mark.parametrize("by", ["add", "apply"])
def test_promise_2_an_agent_that_was_left_alone_is_adopted_as_soon_as_it_is_declared_again(
    stage: Stage, by: str
) -> None:
    """A start that follows at once does not end its run."""
    declare(stage, "a")
    stage.up()
    pid = stage.until_running("a", 1, patience=LONG)["pid"]
    stage.kill()
    lose(stage)
    declaration = stage.state / "agents.d" / "a.toml"
    text = declaration.read_text(encoding="utf-8")
    declaration.unlink()
    declare(stage, "b", 'argv = ["sleep", "100001"]\ncwd = "/"\nautostart = false\n')
    stage.up()
    assert set(stage.rows()) == {"b"}
    assert "declared by nobody: a" in " ".join(stage.ask("status").split())
    if by == "add":
        stage.ask("add", "a", "--cwd", "/", "--", "sleep", "100000")
    else:
        declaration.write_text(text, encoding="utf-8")
        stage.ask("apply")
    stage.ask("start", "a")
    row = stage.row("a")
    assert (row["state"], row["pid"], row["incarnation"]) == ("running", pid, 1)
    # It is no more part of the plan, and who was started by hand is not either.
    assert "declared by nobody" not in " ".join(stage.ask("recover").split())
    stage.ask("start", "b")
    assert alerts(stage) == []
    assert "Nothing is to be recovered" in stage.ask("recover")
    assert len(incarnations(stage.root, "a")) == 1
    # It is watched from then on, and healed.
    os.kill(pid, signal.SIGKILL)
    stage.until_running("a", 2, patience=LONG)


def test_promise_11_a_question_that_was_open_when_the_journal_was_lost_is_asked_again(stage: Stage) -> None:
    """Its shim holds the request, and remembers what it asks."""
    asking = Asking(stage, "a")
    try:
        stage.up()
        pid = stage.until_running("a", 1, patience=LONG)["pid"]
        asked = asking.ask("lost")
        stage.kill()
        lose(stage)
        stage.up()
        again = asking.item("lost")
        assert (again["kind"], again["answer_by"]) == ("permission", "answer")
        assert again["id"] != asked["id"]
        assert (stage.row("a")["pid"], stage.row("a")["activity"]) == (pid, "waiting")
        # Neither doubled nor lost by one more start, whose journal knows it.
        stage.kill()
        stage.up()
        assert [item["id"] for item in asking.items() if item["kind"] == "permission"] == [again["id"]]
        stage.ask("answer", str(again["id"]), "allow")
        assert asking.outcome("lost") == ("answer", "yes")
    finally:
        asking.close()


def row_ids(stage: Stage) -> list[int]:
    return [one["id"] for one in json.loads(stage.ask("events", "--all", "--json"))["events"]]


def follow(stage: Stage, last: int, word: str) -> list[int]:
    """The ids of the frames behind `last`, up to the first that holds the word."""
    until = time.monotonic() + LONG
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(LONG)
        line.connect(str(stage.runtime / "api.sock"))
        line.sendall(
            f"GET /v1/events?all=1 HTTP/1.0\r\naccept: text/event-stream\r\nlast-event-id: {last}\r\n\r\n".encode()
        )
        ids = []
        for text in line.makefile("r", encoding="utf-8"):
            if text.startswith("id: "):
                ids.append(int(text.removeprefix("id: ")))
            if text.startswith("data: ") and word in text:
                return ids
            if time.monotonic() > until:  # Beats keep the line alive.
                break
    raise AssertionError(f"the stream did not tell {word!r}")


def test_promise_9_who_follows_the_events_misses_nothing_of_a_journal_that_went_back(stage: Stage) -> None:
    declare(stage, "a")
    stage.up()
    stage.until_running("a", 1)
    stage.kill()
    backup = copy_of(stage)
    stage.up()
    for _ in range(3):
        stage.ask("stop", "a")
        stage.ask("start", "a")
    for _ in ("once", "the same copy again"):
        known = max(row_ids(stage))
        stage.kill()
        put_back(stage, backup)
        stage.up()
        seen = follow(stage, known, "the journal is old")
        assert seen == sorted(set(seen))
        assert min(seen) > known
        assert min(row_ids(stage)) < known, "what the older copy knows stands there under its old numbers"
    stage.ask("stop", "a")


def test_promise_3_an_agent_that_was_given_up_and_an_open_breaker_are_no_fresh_start_after_a_lost_journal(
    stage: Stage,
) -> None:
    """Their wish and the breaker's file tell: they started again without a word."""
    given_up = '[agent.a]\nargv = ["false"]\ncwd = "/"\n[agent.a.restart]\nmax_crashes = 1\n'
    stage.declare("a", given_up)
    (stage.root / "work").mkdir()
    loop = (
        f'[agent.b]\nkind = "loop"\nargv = ["true"]\ncwd = "{stage.root / "work"}"\n[agent.b.loop]\npause = "0.05s"\n'
        "[agent.b.breaker]\nwarn = 1\nstop = 2\n"
    )
    stage.declare("b", loop)
    stage.up()
    rows = {}
    for name in ("a", "b"):
        stage.until(f"{name} is given up", lambda name=name: stage.row(name)["state"] == "quarantined", LONG)
        rows[name] = stage.row(name)
    breaker = json.loads(stage.ctl("breaker", "show", "b", "--json").stdout)
    kept = stage.state / "agents/b/.circuit_breaker.json"
    stage.until("its breaker's file says so", lambda: json.loads(kept.read_text())["state"] == "OPEN", LONG)
    stage.kill()
    lose(stage)
    stage.up()
    for name, row in rows.items():
        again = stage.row(name)
        assert (again["state"], again["desired"], again["pid"]) == ("quarantined", "running", None)
        assert again["incarnation"] == row["incarnation"], "nothing was started in between"
    again = json.loads(stage.ctl("breaker", "show", "b", "--json").stdout)
    for key in ("state", "no_progress_count", "iteration", "last_progress_iteration"):
        assert again[key] == breaker[key]
    plan = {one["agent"]: one["verdict"] for one in json.loads(stage.ask("recover", "--json"))["agents"]}
    assert plan == {"a": "quarantine", "b": "quarantine"}
    # A person starts them, as ever: the open breaker is on trial.
    stage.ask("start", "b")
    stage.until("it ran once more", lambda: stage.row("b")["incarnation"] > rows["b"]["incarnation"], LONG)


def test_promise_2_an_end_that_its_living_shim_tells_is_believed_after_a_lost_journal_and_a_file_alone_is_not(
    stage: Stage,
) -> None:
    """Without a control group the agent could have written its exit.json, and ended the shim that would know better."""
    for name in ("told", "alone"):
        rules = f'fence = "none"\n[agent.{name}.stop]\nunproven = "2s"\n'
        declare(stage, name, 'argv = ["sleep", "100000"]\ncwd = "/"\n', more=rules)
    stage.up()
    for name in ("told", "alone"):
        stage.until_running(name, 1, patience=LONG)
    pids = {name: stage.row(name)["pid"] for name in ("told", "alone")}
    shim = json.loads((stage.state / "agents/alone/run.json").read_text())["shim"]["pid"]
    stage.kill()
    for name, pid in pids.items():
        os.kill(pid, signal.SIGKILL)
        record = stage.state / "agents" / name / "exit.json"
        stage.until("its end is recorded", lambda record=record: record.exists() and record.stat().st_size > 0, LONG)
    os.kill(shim, signal.SIGKILL)
    lose(stage)
    stage.up()
    waited = {}
    for name in ("told", "alone"):
        stage.until_running(name, 2, patience=LONG)
        waited[name] = "counts as ended" in stage.ask("events", name, "--all", "--json")
    assert waited == {"told": False, "alone": True}


def test_promise_3_who_was_stopped_cleanly_is_down_at_once_after_a_lost_journal(stage: Stage) -> None:
    """The shim's own record says that the run is over, and nothing is to start: nothing has to be waited for."""
    for name in ("a", "b"):
        declare(stage, name)
    stage.up()
    for name in ("a", "b"):
        stage.until_running(name, 1, patience=LONG)
    stage.ask("down", "--agents")
    assert stage.process is not None
    stage.process.wait(LONG)
    lose(stage)
    stage.up()
    rows = stage.rows()
    assert {name: (row["state"], row["desired"], row["pid"]) for name, row in rows.items()} == dict.fromkeys(
        ("a", "b"), ("stopped", "stopped", None)
    )
    assert "0 of 2 alive, 2 stopped, 0 healing" in stage.ask("status")
    told = stage.ctl("doctor", "--all").stdout
    assert "hidepid" not in told
    assert "fence" not in told, "nothing holds a process that is gone"
    stage.ask("start", "a")
    stage.until_running("a", 2, patience=LONG)


HOOKED = """import json, os, signal, subprocess, sys
for kind in ("session-start", *sys.argv[1:]):
    told = {"session_id": os.environ["PHOENIX_SESSION_ID"], "prompt": "go on", "tool_name": "Bash", "tool_use_id": "t"}
    subprocess.run([os.environ["PHOENIX_HOOK"], kind], input=json.dumps(told).encode(), check=True)
print("told", flush=True)
signal.pause()
"""


def test_x9_nobody_is_idle_because_the_journal_was_lost(stage: Stage) -> None:
    """One program prints all the time and tells nothing of its turns; two tell of theirs by hooks."""
    chatty = f"while {A_WHILE}; do echo $((n += 1)); sleep 0.2; done"
    declare(stage, "chatty", f'argv = ["sh", "-c", {json.dumps(chatty)}]\ncwd = "/"\n')
    for name, kinds in (("busy", ("prompt-submit", "tool-start")), ("rests", ("prompt-submit", "stop"))):
        argv = json.dumps([sys.executable, "-c", HOOKED, *kinds])
        declare(stage, name, f'argv = {argv}\ncwd = "/"\n')
    stage.up()
    words = {"busy": "working", "rests": "idle", "chatty": None}
    for name, word in words.items():
        stage.until_running(name, 1, patience=LONG)
        stage.until(f"{name} is {word}", lambda name=name, word=word: stage.row(name)["activity"] == word, LONG)
    heard = {name: stage.state / "agents" / name / "heartbeat.json" for name in ("busy", "rests")}
    for name, kind in (("busy", "tool-start"), ("rests", "stop")):
        stage.until("its shim wrote that down", lambda name=name, kind=kind: kind in heard[name].read_text(), LONG)
    stage.kill()
    lose(stage)
    stage.up()

    assert {name: stage.row(name)["activity"] for name in words} == words
    assert {name: stage.row(name)["group"] for name in words} == {
        "busy": "working", "rests": "resting", "chatty": "working"
    }  # fmt: skip
    assert stage.ctl("wait", "rests", "--for", "idle", "--timeout", "1m").returncode == 0
    for name in ("busy", "chatty"):
        assert stage.ctl("wait", name, "--for", "idle", "--timeout", "2s").returncode != 0
