"""A journal that is behind the world: what lives is adopted, what was stopped on purpose stays so, and it is told."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

from phoenixd.demo.stage import Stage
from tests.e2e.census import incarnations
from tests.e2e.test_lifecycle import declare

LONG = 60.0


def journal(stage: Stage) -> Path:
    return stage.state / "journal.sqlite3"


def copy_of(stage: Stage) -> Path:
    """A backup as somebody takes one who knows the journal's log."""
    place = stage.root / "backup"
    place.mkdir()
    for file in stage.state.glob("journal.sqlite3*"):
        if not file.name.endswith((".reserve", "-shm")):
            shutil.copy2(file, place / file.name)
    return place


def lose(stage: Stage) -> None:
    for file in stage.state.glob("journal.sqlite3*"):
        file.unlink()


def put_back(stage: Stage, backup: Path) -> None:
    lose(stage)
    for file in backup.iterdir():
        shutil.copy2(file, stage.state / file.name)


def at_work(stage: Stage) -> dict[str, int]:
    """Three agents that live, of which b died once, and one that was stopped; the pids of the living."""
    for name in ("a", "b", "c", "off"):
        declare(stage, name)
    stage.up()
    for name in ("a", "b", "c", "off"):
        stage.until_running(name, 1, patience=LONG)
    return {}


def live_on(stage: Stage) -> dict[str, int]:
    """What the journal of before knows nothing of: a death that was healed, and a stop."""
    os.kill(stage.row("b")["pid"], signal.SIGKILL)
    stage.until_running("b", 2, patience=LONG)
    stage.ask("stop", "off")
    return {name: stage.row(name)["pid"] for name in ("a", "b", "c")}


def is_as_it_was(stage: Stage, pids: dict[str, int]) -> None:
    """Nobody was killed or doubled, the stopped one is down, and it is told: status, doctor, plan."""
    rows = stage.rows()
    assert {name: rows[name]["pid"] for name in pids} == pids
    assert all(rows[name]["state"] == "running" for name in pids)
    for name in pids:
        assert len(incarnations(stage.root, name)) == 1
    assert (rows["off"]["state"], rows["off"]["desired"]) == ("stopped", "stopped")
    assert not incarnations(stage.root, "off")
    assert rows["b"]["incarnation"] == 2
    daemon = json.loads(stage.ask("status", "--json"))["daemon"]
    assert [one["kind"] for one in daemon["alerts"]].count("journal behind") == 1
    assert "journal" in stage.ask("status")
    doctor = stage.ctl("doctor")
    assert doctor.returncode == 3
    assert "phoenixctl recover" in doctor.stdout
    plan = json.loads(stage.ask("recover", "--json"))
    assert {one["agent"] for one in plan["agents"]} >= {*pids, "off"}


def is_confirmed(stage: Stage, pids: dict[str, int]) -> None:
    """`recover --yes` ends the matter, and so it stays over the next start; incarnations go on."""
    stage.ask("recover", "--yes")
    assert not json.loads(stage.ask("status", "--json"))["daemon"]["alerts"]
    stage.kill()
    stage.up()
    rows = stage.rows()
    assert {name: rows[name]["pid"] for name in pids} == pids
    assert rows["off"]["state"] == "stopped"
    assert not json.loads(stage.ask("status", "--json"))["daemon"]["alerts"]
    os.kill(pids["b"], signal.SIGKILL)
    stage.until_running("b", 3, patience=LONG)


def test_promise_9_an_older_copy_of_the_journal_kills_nobody_and_starts_nothing_that_was_stopped(stage: Stage) -> None:
    at_work(stage)
    stage.kill()
    backup = copy_of(stage)
    stage.up()
    pids = live_on(stage)
    stage.kill()
    put_back(stage, backup)
    stage.up()
    is_as_it_was(stage, pids)
    is_confirmed(stage, pids)


def test_promise_9_a_journal_that_is_lost_altogether_is_the_same_case_and_no_first_start(stage: Stage) -> None:
    at_work(stage)
    pids = live_on(stage)
    stage.kill()
    lose(stage)
    stage.up()
    is_as_it_was(stage, pids)
    # Also over a start in between: nothing was confirmed yet.
    stage.kill()
    stage.up()
    is_as_it_was(stage, pids)
    is_confirmed(stage, pids)
