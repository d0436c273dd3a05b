"""A daemon with a state directory of its own, started, asked, killed and cleared away from outside.

The demo plays on it, and so do the end-to-end tests: orders go through `phoenixctl`, as a user's would; what is asked
again and again, and the end of it all, go straight to the control socket.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from phoenixd.directories import make_private

MODULE = (sys.executable, "-P", "-m")
"""Nothing of the directory in which a demonstration is begun is a module of its programs."""
PATIENCE = 60.0
PAUSE = 0.02
LONGEST_PAUSE = 0.25
"""Seconds between two looks. The first comes soon; then a quarter of the wait so far: a look costs a daemon 2 ms."""
ANSWER = 30.0
"""Seconds for one answer of the daemon."""


class StageFailed(Exception):
    """Something did not come true in time."""


class Stage:
    """One daemon below `root`. Environment and interpreter are the caller's."""

    popen: ClassVar[Callable[..., subprocess.Popen[bytes]]] = subprocess.Popen
    """How the daemon's process begins."""
    run: ClassVar[Callable[..., subprocess.CompletedProcess[str]]] = staticmethod(subprocess.run)
    """How phoenixctl runs."""

    def __init__(self, root: Path, environ: Mapping[str, str] | None = None) -> None:
        self.root, self.state, self.runtime = root, root / "state", root / "run"
        for directory in (self.state, self.runtime, self.state / "agents.d"):
            make_private(directory)
        self.environ = {**(os.environ if environ is None else environ), "XDG_CONFIG_HOME": str(root / "config")}
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self.state / "phoenixd.log"

    def declare(self, name: str, text: str) -> None:
        """Write an agent's declaration; the daemon reads it at its start, or on `apply`."""
        (self.state / "agents.d" / f"{name}.toml").write_text(text)

    def up(self, *, wait: bool = True) -> None:
        """Start the daemon, and wait until it answers."""
        private = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(private, "ab") as log:
            self.process = self.popen(
                [*MODULE, "phoenixd", "--state-dir", str(self.state), "--runtime-dir", str(self.runtime)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=self.environ,
            )
        if wait:
            self.until("the daemon answers", self.answers)

    def answers(self) -> bool:
        """Whether the daemon answers; one that has ended never will."""
        if self.process is not None and self.process.poll() is not None:
            raise StageFailed(f"the daemon ended with {self.process.returncode}:\n{self.log_tail()}")
        try:
            self.rows()
        except StageFailed:
            return False
        return True

    def kill(self) -> None:
        """kill -9 the daemon, and wait until it is gone."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def down(self) -> None:
        """End agents, daemon and tmux server."""
        if self.process is not None and self.process.poll() is None:
            with contextlib.suppress(StageFailed):
                self._http("POST", "/v1/down", b'{"agents": true}')
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()
        server = ["tmux", "-S", str(self.runtime / "tmux.sock"), "kill-server"]
        subprocess.run(server, capture_output=True, check=False)

    def ctl(self, *words: str, input: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run phoenixctl, and return what came of it."""
        return self.run(
            [*MODULE, "phoenixd.ctl", "--socket", str(self.runtime / "api.sock"), *words],
            capture_output=True,
            text=True,
            check=False,
            input=input,
            env=self.environ,
        )

    def ask(self, *words: str) -> str:
        """Run phoenixctl and return its output; raises StageFailed when it failed."""
        done = self.ctl(*words)
        if done.returncode != 0:
            raise StageFailed(f"phoenixctl {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def rows(self) -> dict[str, dict[str, Any]]:
        """All rows of `status --json`, by name."""
        return {row["name"]: row for row in json.loads(self._http("GET", "/v1/agents"))["agents"]}

    def row(self, name: str) -> dict[str, Any]:
        return self.rows()[name]

    def _http(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """What the daemon answers to what is asked at each look, or by each test: phoenixctl would cost a start."""
        connection = _ToDaemon(str(self.runtime / "api.sock"))
        try:
            connection.request(method, path, body, {"accept": "application/json", "content-type": "application/json"})
            answer = connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException) as failure:
            raise StageFailed(f"the daemon does not answer: {failure!r}") from None
        finally:
            connection.close()
        if answer.status >= 400:
            raise StageFailed(f"the daemon answers {answer.status}: {said.decode(errors='replace').strip()}")
        return said

    def until(self, what: str, condition: Callable[[], bool], patience: float = PATIENCE) -> float:
        """Wait for a condition that no event announces to an outsider, and return the seconds that it took."""
        began = time.monotonic()
        while not condition():
            waited = time.monotonic() - began
            if waited > patience:
                raise StageFailed(f"waited {patience:.0f} s in vain until {what}\n{self.log_tail()}")
            time.sleep(min(max(waited / 4, PAUSE), LONGEST_PAUSE))
        return time.monotonic() - began

    def until_running(
        self, name: str, incarnation: int, modes: Sequence[str] = ("fresh", "resume"), patience: float = PATIENCE
    ) -> dict[str, Any]:
        """Wait for an incarnation at work, and return its row."""
        row: dict[str, Any] = {}

        def arrived() -> bool:
            row.update(self.row(name))
            return row["incarnation"] == incarnation and row["state"] == "running" and row["mode"] in modes

        self.until(f"incarnation {incarnation} of {name} runs ({' or '.join(modes)})", arrived, patience)
        return row

    def log_tail(self, lines: int = 15) -> str:
        """The daemon's last words."""
        written = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(written[-lines:])


class _ToDaemon(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("phoenixd", timeout=ANSWER)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
