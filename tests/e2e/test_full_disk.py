"""The disk of the state directory is full while agents live: nothing acknowledged is lost, and it heals by itself."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.census import incarnations
from tests.e2e.puppet import Puppet
from tests.full_disk import fill, small_disk

pytestmark = [pytest.mark.slow, pytest.mark.faults, pytest.mark.timeout(300)]

PROMPTS = 60
SAY = """
import json, os, socket
hooks = socket.socket(socket.AF_UNIX)
hooks.connect(os.environ["PHOENIX_HOOK_DIR"] + "/hook.sock")
out = 0
for number in range({first}, {first} + {count}):
    body = json.dumps({{"prompt": f"task {{number}} " + "w" * 1900}}).encode()
    head = ["POST /hook/prompt-submit HTTP/1.1", "Host: x", f"Content-Length: {{len(body)}}",
            "Authorization: Bearer " + os.environ["PHOENIX_TOKEN"], "", ""]
    hooks.sendall("\\r\\n".join(head).encode() + body)
    out += b"200 OK" in hooks.recv(4096)
"""


@pytest.fixture
def disk(short_tmp: Path) -> Iterator[Path]:
    """What is mounted has to be there before the stage, and to stay until the stage is over."""
    with small_disk(short_tmp / "state", "8M") as mount:
        yield mount


@pytest.fixture
def full(disk: Path, stage: Stage) -> Stage:
    """Three agents at work, and then a disk without a free byte."""
    talker = Puppet(stage.root / "talker")
    for name, argv in (("talker", talker.argv), ("victim", ["sleep", "100000"]), ("other", ["sleep", "100000"])):
        rules = 'restart = { early_exit = "0s", productive = "0s" }\nresume = { refused_within = "0s" }\n'
        stage.declare(name, f'[agent.{name}]\nargv = {json.dumps(argv)}\ncwd = "/"\n{rules}')
    stage.up()
    for name in ("talker", "victim", "other"):
        stage.until_running(name, 1)
    talker.do("pass")
    fill(disk)
    return stage


def say(stage: Stage, first: int, count: int) -> None:
    """Have the talker post prompts by number; all are acknowledged to it."""
    answered = Puppet(stage.root / "talker").do(SAY.format(first=first, count=count))
    assert answered == str(count)


def daemon(stage: Stage) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stage.ask("status", "--json"))["daemon"]
    return found


def degrade(stage: Stage, disk: Path) -> int:
    """Fill and talk until the daemon says that it is degraded; returns how many prompts that took."""
    said = 0
    while not daemon(stage)["degraded"]:
        assert said < 100, "the burst that is kept one by one"
        fill(disk)
        say(stage, said, 5)
        said += 5
    return said


def prompts(stage: Stage) -> set[int]:
    """The numbers of the talker's prompts that stand in the journal."""
    told = json.loads(stage.ask("events", "talker", "--since", "1h", "--all", "--json"))["events"]
    texts = [event["detail"].get("text", "") for event in told if event["event"] == "hook_seen"]
    return {int(text.split()[1]) for text in texts if text.startswith("task ")}


def test_f_st_3_a_full_disk_loses_nothing_acknowledged_stops_still_work_and_it_heals(full: Stage, disk: Path) -> None:
    said = degrade(full, disk)
    assert "DEGRADED, nothing new is started" in full.ask("status")
    assert "full" in daemon(full)["degraded_reason"]

    os.kill(full.row("victim")["pid"], signal.SIGKILL)
    full.until("its death is noticed", lambda: full.row("victim")["state"] == "backing_off")

    stopped = full.ask("stop", "other")
    assert "stays so" in stopped
    assert incarnations(full.root, "other") == {}
    assert full.row("victim")["state"] == "backing_off", "nothing is started meanwhile"
    assert full.row("talker")["incarnation"] == 1

    full.kill()
    fill(disk)
    full.up()
    rows = full.rows()
    assert (rows["other"]["state"], rows["talker"]["state"]) == ("stopped", "running"), "a daemon starts on it, too"
    assert rows["victim"]["incarnation"] == 1

    (disk / "filler").unlink()
    full.until_running("victim", 2)
    full.until("all prompts are in the journal", lambda: prompts(full) >= set(range(said)))
    full.until("the files are written again", lambda: all(row["alerts"] == [] for row in full.rows().values()), 60)
    full.until("it has been well for a while", lambda: not daemon(full)["degraded"], 60)
    full.kill()
    full.up()
    assert full.row("other")["state"] == "stopped", "what was acknowledged holds"
    assert (full.row("talker")["incarnation"], full.row("victim")["incarnation"]) == (1, 2)
    assert prompts(full) >= set(range(said))
