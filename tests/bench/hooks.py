"""What one hook call costs the agent: by HTTP, by the hook program, and by a bash heartbeat script for comparison."""

from __future__ import annotations

import http.client
import json
import os
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from phoenixd.demo.stage import Stage
from tests.bench.arena import Figures, time_command
from tests.bench.scale import Scale

SCRIPT = """#!/bin/bash
now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
input=$(cat)
printf '{"agent":"a","timestamp":"%s","tool":"Bash","pid":%d}\\n' "$now" "$$" > "$1.tmp"
mv "$1.tmp" "$1"
"""
INPUT = {
    "hook_event_name": "PostToolUse",
    "session_id": "0",
    "tool_name": "Bash",
    "tool_input": {"command": "make test"},
    "tool_response": {"stdout": "x" * 2000},
}


def measure(runs: int) -> dict[str, Figures]:
    """Milliseconds of one call, by each way."""
    body = json.dumps(INPUT).encode()
    with tempfile.TemporaryDirectory(prefix="phx-bench-") as directory:
        root = Path(directory)
        script = root / "heartbeat.sh"
        script.write_text(SCRIPT)
        script.chmod(0o755)
        stage = Stage(root / "phoenixd")
        tell = root / "environment"
        # The agent hands its environment to the benchmark, which then makes the agent's own calls.
        program = root / "agent"
        program.write_text(f"#!/bin/sh\nenv -0 > {tell}.new; mv {tell}.new {tell}; exec sleep 100000\n")
        program.chmod(0o755)
        stage.declare("a", f'[agent.a]\nharness = "claude"\nargv = ["{program}"]\ncwd = "/"\n')
        stage.up()
        try:
            stage.until("the agent told its environment", tell.exists)
            pairs = tell.read_text().rstrip("\0").split("\0")
            environ = {**os.environ, **dict(pair.split("=", 1) for pair in pairs)}
            return {
                "bash with date and mv": time_command([str(script), str(root / "beat.json")], runs, stdin=body),
                "hook program": time_command([environ["PHOENIX_HOOK"], "tool-end"], runs, environ, body),
                "HTTP": _http(_url(stage), environ["PHOENIX_TOKEN"], body, runs),
            }
        finally:
            stage.down()


def _url(stage: Stage) -> str:
    """Where the harness's settings tell it to post its hooks."""
    settings = json.loads((stage.state / "agents" / "a" / "settings.json").read_text())
    url: str = settings["hooks"]["PostToolUse"][0]["hooks"][0]["url"]
    return url


def _http(url: str, token: str, body: bytes, runs: int) -> Figures:
    figures = Figures()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(url).port)
    for _ in range(runs):
        began = time.monotonic()
        connection.request("POST", "/hook", body, headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            figures.missed += 1
            continue
        figures.samples.append((time.monotonic() - began) * 1000)
    connection.close()
    return figures


def report(scale: Scale) -> bool:
    """Print the table."""
    costs = measure(40 if scale.quick else 200)
    print("\none hook call: median / p99 in ms")
    script = costs["bash with date and mv"].median
    for name, figures in costs.items():
        print(f"{name:24}{figures.text():>22}   {figures.median / script:.2f} x the bash script")
    return not any(figures.missed for figures in costs.values())
