"""A context as a living daemon meters it: transcript and status line in, status, `tokens check` and samples out."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from phoenixd.demo.stage import Stage
from phoenixd.harness.claude.launch import transcript_path
from tests.transcripts.samples import answer, prompt

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
REPORTS = """
while [ $# -gt 0 ]; do case "$1" in --session-id | --resume) id=$2 ;; esac; shift; done
told() { "$PHOENIX_HOOK" "$1" >/dev/null; }
printf '{"session_id": "%s", "source": "startup"}' "$id" | told session-start
printf '{"session_id": "%s", "prompt": "Go."}' "$id" | told prompt-submit
printf '{"session_id": "%s", "model": {"id": "m"}, "context_window": {"context_window_size": 200000}}' "$id" |
    told status-line
mkdir -p "$TRANSCRIPTS"
sed "s/@now/$(date -u +%Y-%m-%dT%H:%M:%S.999Z)/" "$LINES" >>"$TRANSCRIPTS/$id.jsonl"
printf '{"session_id": "%s"}' "$id" | told stop
"""
"""What Claude Code tells of a session of one turn, as a shell does it; @now is the time of a record."""
AGENT = f"""{REPORTS}
until [ -e "$ASK" ]; do sleep 0.1; done
phoenixctl tokens check --json >"$ASK.out"
echo $? >"$ASK.code"
sleep 100000
"""


def declare(stage: Stage, room: Path, tokens: int) -> None:
    """An agent that reports as Claude Code does, with `tokens` tokens in its newest request."""
    home, work = room / "home", room / "work"
    home.mkdir()
    work.mkdir()
    script, lines = room / "agent.sh", room / "lines"
    script.write_text(f"#!/bin/sh\n{AGENT}")
    script.chmod(0o755)
    (room / "package.json").write_text('{"version": "2.1.330"}')
    lines.write_bytes(prompt("Go.") + answer(cached=tokens - 63))
    variables = {
        "HOME": str(home),
        "TRANSCRIPTS": str(Path(transcript_path(str(home), os.path.realpath(work), "x")).parent),
        "LINES": str(lines),
        "ASK": str(room / "ask"),
    }
    stage.declare(
        "boss",
        '[agent.boss]\nharness = "claude"\nkind = "orchestrator"\nenv_from = "none"\nprompt = "Go."\n'
        f"argv = {json.dumps([str(script)])}\ncwd = {json.dumps(str(work))}\n[agent.boss.env]\n"
        + "".join(f"{name} = {json.dumps(value)}\n" for name, value in variables.items()),
    )


def context(stage: Stage) -> dict[str, Any] | None:
    found: dict[str, Any] | None = stage.row("boss")["context"]
    return found


def until_known(stage: Stage, tokens: int) -> None:
    def is_known() -> bool:
        found = context(stage)
        return found is not None and (found["tokens"], found["limit"]) == (tokens, 200_000)

    stage.until(f"{tokens} of 200,000 tokens are told", is_known, 60)


def test_the_how_to_page_does_what_it_says(stage: Stage, short_tmp: Path) -> None:
    """Every command of docs/how-to/watch-the-context.md, in its order, in one shell; what helps a session that is full
    as it begins is tried by tests/real/test_claude_too_long.py."""
    page = (ROOT / "docs/how-to/watch-the-context.md").read_text()
    commands, too_long = re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert (commands.count("phoenixctl"), too_long.count("phoenixctl")) == (4, 2)
    declare(stage, short_tmp, 150_000)
    stage.up()
    until_known(stage, 150_000)
    phoenixctl = f"{sys.executable} -m phoenixd.ctl --socket {stage.runtime / 'api.sock'}"

    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f'phoenixctl() {{ {phoenixctl} "$@"; }}\n{commands}'],
        env=stage.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (ran.returncode, ran.stderr) == (0, "")
    told = " ".join(ran.stdout.split())
    assert told.count("150,000 of 200,000 tokens, 75.0 % (status line)") == 4
    assert "context WARNING" in told


def test_e15_a_due_handoff_is_exit_3_from_outside_and_from_inside_and_outlives_the_daemon(
    stage: Stage, short_tmp: Path
) -> None:
    declare(stage, short_tmp, 180_000)
    stage.up()
    until_known(stage, 180_000)
    assert stage.ctl("tokens", "check", "boss").returncode == 3
    (short_tmp / "ask").touch()
    stage.until("it asked from its pane", (short_tmp / "ask.code").exists, 60)
    stage.until("and wrote the code", lambda: (short_tmp / "ask.code").read_text() == "3\n", 60)
    assert json.loads((short_tmp / "ask.out").read_text())["verdict"] == "HANDOFF"

    stage.kill()
    stage.up()
    until_known(stage, 180_000)
    assert stage.ctl("tokens", "check", "boss", "--threshold", "0.95").returncode == 0
    with closing(sqlite3.connect(f"file:{stage.state / 'journal.sqlite3'}?mode=ro", uri=True)) as connection:
        samples = connection.execute("SELECT agent, tokens, tokens_limit, source FROM usage").fetchall()
    assert ("boss", 180_000) in {row[:2] for row in samples}


def test_e11_e18_the_sessions_record_stands_in_the_workspace_with_what_its_context_holds(
    stage: Stage, short_tmp: Path
) -> None:
    """No handoff was ever asked for."""
    declare(stage, short_tmp, 150_000)
    stage.up()

    def record() -> dict[str, Any]:
        found = list((short_tmp / "work/.claude/orchestrators").glob("orchestrator-*/session.json"))
        return json.loads(found[0].read_text()) if len(found) == 1 else {}

    stage.until("it is there", lambda: record().get("nativeSessionId") == stage.row("boss")["session_id"], 60)
    stage.until("it has the tokens", lambda: record()["contextUsage"]["totalTokens"] == 150_000, 90)
    told = record()
    assert (told["status"], told["generation"], told["projectName"]) == ("running", 1, "boss")
    usage = told["contextUsage"]
    assert usage["inputTokens"] + usage["outputTokens"] == 150_000
    assert (usage["percentage"], usage["outputTokens"] > 0, usage["lastUpdated"][-1]) == (75.0, True, "Z")
