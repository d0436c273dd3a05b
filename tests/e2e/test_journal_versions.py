"""A journal of an older version is migrated under living agents; one of a newer version is refused under them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from phoenixd.demo.stage import Stage
from phoenixd.drivers.journal.rows import sealed
from phoenixd.drivers.journal.tables import SCHEMA_KEY, SCHEMA_VERSION
from tests.drivers.journal.older import take_back_to_version_1
from tests.e2e.census import incarnations
from tests.e2e.test_lifecycle import declare

pytestmark = pytest.mark.slow

LONG = 60.0
NAMES = ("a", "b", "c")
TOLD = ("state", "desired", "pid", "incarnation", "restarts", "session_id", "reason", "started_at")


def journal(stage: Stage) -> Path:
    return stage.state / "journal.sqlite3"


def told(stage: Stage) -> dict[str, dict[str, Any]]:
    """What status says of each agent, but for what goes on by itself."""
    return {name: {key: row[key] for key in TOLD} for name, row in stage.rows().items()}


def events(stage: Stage) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(stage.ask("events", "--all", "--json"))["events"]
    return found


def alerts(stage: Stage) -> list[str]:
    return [one["kind"] for one in json.loads(stage.ask("status", "--json"))["daemon"]["alerts"]]


def make_newer(path: Path) -> None:
    """What the next version's migration would leave."""
    shutil.copy2(path, path.with_name(f"{path.name}.version-{SCHEMA_VERSION}"))
    with closing(sqlite3.connect(path)) as connection, connection:
        number = SCHEMA_VERSION + 1
        connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("REPLACE INTO meta VALUES (?, ?, ?)", sealed("meta", SCHEMA_KEY, str(number)))


def test_promises_1_and_3_an_older_journal_is_migrated_under_living_agents_and_a_newer_one_is_refused(
    stage: Stage,
) -> None:
    """Nobody dies, nothing is forgotten, and the way back that the refusal names can be typed."""
    for name in NAMES:
        declare(stage, name)
    stage.up()
    for name in NAMES:
        stage.until_running(name, 1, patience=LONG)
    os.kill(stage.row("b")["pid"], signal.SIGKILL)
    stage.until_running("b", 2, patience=LONG)
    stage.ask("stop", "c")
    before, past = told(stage), events(stage)

    stage.kill()
    take_back_to_version_1(journal(stage))
    stage.up()

    assert told(stage) == before
    assert all(len(incarnations(stage.root, name)) == 1 for name in ("a", "b"))
    assert not incarnations(stage.root, "c")
    assert events(stage)[: len(past)] == past
    assert alerts(stage) == []
    assert "journal_migrated" in stage.log_tail(200)
    assert (stage.state / "journal.sqlite3.version-1").exists()
    with closing(sqlite3.connect(f"file:{journal(stage)}?mode=ro", uri=True)) as connection:
        lives = "SELECT agent, incarnation, signal, how FROM lives ORDER BY agent, incarnation"
        known = connection.execute(lives).fetchall()
    assert [one[:2] for one in known] == [("a", 1), ("b", 1), ("b", 2), ("c", 1)]
    assert known[1][2:] == (9, "death")

    stage.kill()
    make_newer(journal(stage))
    refused = stage.ctl("up", "--state-dir", str(stage.state), "--runtime-dir", str(stage.runtime))
    said = refused.stdout + refused.stderr
    assert refused.returncode != 0
    assert f"{journal(stage)} has schema {SCHEMA_VERSION + 1}" in said
    assert f"knows {SCHEMA_VERSION}" in said
    assert all(len(incarnations(stage.root, name)) == 1 for name in ("a", "b"))
    (way_back,) = re.findall(r"cd /.* && cp -p \S+ \S+", said)
    subprocess.run(["sh", "-c", way_back], check=True)
    stage.up()

    assert told(stage) == before
    os.kill(stage.row("a")["pid"], signal.SIGKILL)
    stage.until_running("a", 2, patience=LONG)
