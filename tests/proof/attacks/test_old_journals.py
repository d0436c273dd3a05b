"""The journal went back in time under twenty agents: whatever is left of it must not cost anybody's life."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.census import incarnations
from tests.e2e.test_lifecycle import declare
from tests.e2e.test_old_journal import alerts, lose
from tests.proof.attacks.conftest import AGENTS

pytestmark = pytest.mark.proof

LONG = 180.0
NAMES = [f"a{number:02}" for number in range(AGENTS)]
OFF, HEALED = NAMES[:4], NAMES[4:8]


def all_at_work(stage: Stage) -> None:
    for name in NAMES:
        declare(stage, name)
    stage.up()
    stage.until("all run", lambda: all(row["state"] == "running" for row in stage.rows().values()), LONG)


def live_on(stage: Stage) -> dict[str, int]:
    """Four are stopped, four die and are healed; the pids of those that live."""
    for name in OFF:
        stage.ask("stop", name)
    for name in HEALED:
        os.kill(stage.row(name)["pid"], signal.SIGKILL)
    stage.until("they are healed", lambda: all(stage.row(name)["incarnation"] == 2 for name in HEALED), LONG)
    stage.until("all run", lambda: all(stage.row(name)["state"] == "running" for name in HEALED), LONG)
    return {name: row["pid"] for name, row in stage.rows().items() if name not in OFF}


def keep(stage: Stage, *, everything: bool = False) -> Path:
    place = stage.root / "kept"
    if everything:
        shutil.copytree(stage.state, place)
        return place
    place.mkdir()
    for file in stage.state.glob("journal.sqlite3*"):
        shutil.copy2(file, place / file.name)
    return place


def nobody_was_touched(stage: Stage, pids: dict[str, int]) -> None:
    rows = stage.rows()
    assert {name: rows[name]["pid"] for name in pids} == pids
    assert [name for name in OFF if incarnations(stage.root, name)] == []
    assert [rows[name]["state"] for name in OFF] == ["stopped"] * len(OFF)
    assert alerts(stage) == ["journal behind"]
    assert stage.ctl("doctor").returncode == 3


def restored(stage: Stage, kept: Path) -> None:
    lose(stage)
    for file in kept.glob("journal.sqlite3*"):
        shutil.copy2(file, stage.state / file.name)


def without_its_log(stage: Stage, kept: Path) -> None:
    (stage.state / "journal.sqlite3-wal").unlink()


def with_half_its_log(stage: Stage, kept: Path) -> None:
    log = stage.state / "journal.sqlite3-wal"
    os.truncate(log, log.stat().st_size // 2)


def deleted(stage: Stage, kept: Path) -> None:
    lose(stage)


@pytest.mark.parametrize("loss", [restored, without_its_log, with_half_its_log, deleted])
def test_seen_3_a_journal_that_went_back_in_time(stage: Stage, loss: Callable[[Stage, Path], None]) -> None:
    all_at_work(stage)
    kept = keep(stage)
    pids = live_on(stage)
    stage.kill()
    loss(stage, kept)
    stage.up()
    nobody_was_touched(stage, pids)
    stage.ask("recover", "--yes")
    assert {name: stage.row(name)["pid"] for name in pids} == pids
    assert alerts(stage) == []


def test_seen_3_a_state_directory_that_went_back_as_a_whole_is_known_by_the_shims_that_live(stage: Stage) -> None:
    """Its wishes are old as well, so that who does not live waits, although they say that it is wanted."""
    all_at_work(stage)
    stage.kill()
    kept = keep(stage, everything=True)
    stage.up()
    pids = live_on(stage)
    stage.kill()
    for name in (
        "epoch",
        *(f"agents/{one}/{file}" for one in NAMES for file in ("wish.json", "run.json", "exit.json")),
    ):
        (stage.state / name).unlink(missing_ok=True)
        if (kept / name).exists():
            shutil.copy2(kept / name, stage.state / name)
    restored(stage, kept)
    stage.up()
    nobody_was_touched(stage, pids)
    plan = {one["agent"]: one for one in json.loads(stage.ask("recover", "--json"))["agents"]}
    assert [plan[name]["waits"] for name in OFF] == [True] * len(OFF)
    stage.ask("stop", OFF[0])
    stage.ask("recover", "--yes")
    stage.until("who was wanted by the old journal is started", lambda: stage.row(OFF[1])["state"] == "running", LONG)
    assert stage.row(OFF[0])["state"] == "stopped", "somebody had decided on that one"
    assert stage.row(OFF[1])["incarnation"] > 1


def test_a_journal_of_a_version_without_an_epoch_is_not_behind(stage: Stage) -> None:
    all_at_work(stage)
    pids = live_on(stage)
    stage.kill()
    with sqlite3.connect(stage.state / "journal.sqlite3") as connection:
        connection.execute("DELETE FROM meta WHERE key = '#epoch'")
    connection.close()
    for path in (stage.state / "epoch", *(stage.state / "agents" / name / "wish.json" for name in NAMES)):
        path.unlink()
    for name in NAMES:
        record = stage.state / "agents" / name / "run.json"
        record.write_text(json.dumps({**json.loads(record.read_text()), "epoch": 0}))
    # Shims of that version were told nothing, and say nothing of epochs. These live, and remember: so they go as well.
    server = ["tmux", "-S", str(stage.runtime / "tmux.sock"), "kill-server"]
    subprocess.run(server, capture_output=True, check=False)
    stage.until("all shims are gone", lambda: not any(incarnations(stage.root, name) for name in NAMES), LONG)
    stage.up()
    # That the terminal server fell is true, and is told for as long as a look can fall between its end and the next.
    assert set(alerts(stage)) <= {"terminal"}
    stage.until("all are healed", lambda: all(stage.row(name)["state"] == "running" for name in pids), LONG)
    assert [stage.row(name)["state"] for name in OFF] == ["stopped"] * len(OFF)
    stage.until("each has its wish", lambda: all((stage.state / "agents" / n / "wish.json").exists() for n in NAMES))
