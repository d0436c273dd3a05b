"""The demo's stage: a daemon of its own, in a temporary directory, driven by the same phoenixctl that everybody uses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

AGENT = "demo"
PATIENCE = 20.0


class DemoFailed(Exception):
    """A step of the story did not come true in time."""


class Stage:
    """Starts, asks, kills and clears away one daemon and its only agent."""

    def __init__(self, goal: str) -> None:
        self.place = tempfile.TemporaryDirectory(prefix="phx-demo-")
        root = Path(self.place.name)
        self.state, self.runtime, self.workspace = root / "state", root / "run", root / "workspace"
        for directory in (self.state, self.runtime, self.workspace, self.state / "agents.d"):
            directory.mkdir(mode=0o700)
        self._write_agent(goal)
        self.process: subprocess.Popen[bytes] | None = None

    def _write_agent(self, goal: str) -> None:
        program = Path(__file__).with_name("agent.py")
        (self.state / "agents.d" / f"{AGENT}.toml").write_text(
            "\n".join(
                (
                    f"[agent.{AGENT}]",
                    f"argv = [{json.dumps(sys.executable)}, {json.dumps(str(program))}]",
                    f"cwd = {json.dumps(str(self.workspace))}",
                    f"prompt = {json.dumps(goal)}",
                    "autostart = false",
                    "# Short limits, so that minutes become seconds.",
                    f"[agent.{AGENT}.restart]",
                    'productive = "1s"',
                    'early_exit = "0s"',
                    f"[agent.{AGENT}.liveness]",
                    'stale = "2s"',
                    'check_interval = "1s"',
                    "",
                )
            )
        )

    def up(self) -> None:
        """Start the daemon and wait until it answers."""
        log = (self.state / "phoenixd.log").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "phoenixd", "--state-dir", str(self.state), "--runtime-dir", str(self.runtime)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "XDG_CONFIG_HOME": str(self.state)},
        )
        self.until("the daemon answers", lambda: self.ask("status", "--json", check=False) is not None)

    def kill_daemon(self) -> None:
        """kill -9, and wait until it is gone."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def down(self) -> None:
        """End agent and daemon, and remove every trace."""
        self.ask("down", "--agents", check=False)
        if self.process is not None:
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        subprocess.run(["tmux", "-S", str(self.runtime / "tmux.sock"), "kill-server"], capture_output=True, check=False)
        self.place.cleanup()

    def ask(self, *words: str, check: bool = True) -> str | None:
        """Run phoenixctl and return its output; None when it failed and `check` is off."""
        done = subprocess.run(
            [sys.executable, "-m", "phoenixd.ctl", "--socket", str(self.runtime / "api.sock"), *words],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return done.stdout
        if check:
            raise DemoFailed(f"phoenixctl {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}")
        return None

    def row(self) -> dict[str, Any]:
        """The agent's row of `status --json`."""
        answer = json.loads(self.ask("status", "--json") or "{}")
        row: dict[str, Any] = next(row for row in answer["agents"] if row["name"] == AGENT)
        return row

    def until(self, what: str, condition: Callable[[], bool], patience: float = PATIENCE) -> float:
        """Wait for a condition, and return the seconds that it took."""
        began = time.monotonic()
        while not condition():
            if time.monotonic() - began > patience:
                raise DemoFailed(f"waited {patience:.0f} s in vain until {what}; see {self.state}/phoenixd.log")
            time.sleep(0.02)
        return time.monotonic() - began

    def until_running(self, incarnation: int, mode: str) -> dict[str, Any]:
        """Wait for an incarnation at work, and return its row."""

        def arrived() -> bool:
            row = self.row()
            return (row["incarnation"], row["state"], row["mode"]) == (incarnation, "running", mode)

        self.until(f"incarnation {incarnation} runs ({mode})", arrived)
        return self.row()

    def told(self) -> str:
        """What the agent's newest session was told at its start."""
        return (self.state / "agents" / AGENT / "demo-told.txt").read_text()

    def forget_conversations(self) -> None:
        """Delete the agent's transcripts, as a clean-up or a full disk would."""
        for conversation in (self.state / "agents" / AGENT).glob("demo-conversation-*.txt"):
            conversation.unlink()
