"""What idle agents cost a living daemon whose contexts it knows: nothing that grows with their number."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from phoenixd.harness.claude.launch import transcript_path
from tests.e2e.test_context import REPORTS
from tests.transcripts.samples import answer, prompt

pytestmark = pytest.mark.slow

MANY = 20
WINDOW, WINDOWS = 2.0, 5
"""Seconds of one count, and how many counts: the least of them has none of what goes on once in a while."""
AGENT = f"""{REPORTS}
exec sleep 100000
"""


def declare(stage: Stage, room: Path) -> list[str]:
    """Orchestrators that report as Claude Code does, and then rest."""
    home, work, script, lines = room / "home", room / "work", room / "agent.sh", room / "lines"
    home.mkdir()
    work.mkdir()
    script.write_text(f"#!/bin/sh\n{AGENT}")
    script.chmod(0o755)
    (room / "package.json").write_text('{"version": "2.1.330"}')
    lines.write_bytes(prompt("Go.", timestamp="@now") + answer(cached=100_000 - 63, timestamp="@now"))
    transcripts = Path(transcript_path(str(home), os.path.realpath(work), "x")).parent
    variables = {"HOME": str(home), "TRANSCRIPTS": str(transcripts), "LINES": str(lines)}
    names = [f"boss-{number}" for number in range(MANY)]
    for name in names:
        stage.declare(
            name,
            f'[agent.{name}]\nharness = "claude"\nkind = "orchestrator"\nenv_from = "none"\nprompt = "Go."\n'
            f"autostart = false\nargv = {json.dumps([str(script)])}\ncwd = {json.dumps(str(work))}\n"
            f"[agent.{name}.env]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in variables.items()),
        )
    return names


def wake_ups(pid: int) -> dict[str, int]:
    """How often each thread of a process has gone to sleep by itself."""
    found = {}
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # It has ended.
            lines = (thread / "status").read_text().splitlines()
            found[thread.name] = sum(int(one.split()[1]) for one in lines if one.startswith("voluntary_ctxt_switches"))
    return found


def least(pid: int) -> int:
    """The fewest wake-ups of any window; threads that end meanwhile are not counted."""
    counts = []
    for _ in range(WINDOWS):
        before = wake_ups(pid)
        # The window itself, and no wait for anything.
        time.sleep(WINDOW)
        counts.append(sum(count - before.get(thread, 0) for thread, count in wake_ups(pid).items()))
    return min(counts)


def test_a_metered_idle_agent_adds_no_wake_up(stage: Stage, short_tmp: Path) -> None:
    names = declare(stage, short_tmp)
    stage.up()
    assert stage.process is not None
    pid = stage.process.pid
    alone = least(pid)

    assert stage.ctl("start", *names, "--yes").returncode == 0

    def are_idle() -> bool:
        rows = stage.rows()
        return all(
            (rows[name]["activity"], (rows[name]["context"] or {}).get("tokens")) == ("idle", 100_000) for name in names
        )

    stage.until("all rest, and their contexts are known", are_idle, 300)
    together = least(pid)
    assert together < alone + MANY, f"{together} wake-ups with {MANY} idle agents, {alone} with none"
