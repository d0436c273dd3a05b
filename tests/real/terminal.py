"""A private tmux server for one test: starts a program in a pane, shows its screen, types into it, tells its end."""

from __future__ import annotations

import os
import re
import select
import shlex
import signal
import subprocess
import tempfile
import time
from pathlib import Path


class Terminal:
    """Everything lives in a temporary directory and ends with the `with` block."""

    def __init__(self, *, width: int = 120, height: int = 40) -> None:
        self._size = (str(width), str(height))
        self._room = tempfile.TemporaryDirectory(prefix="phx-term-")
        self._socket = Path(self._room.name) / "s"
        self._programs: list[Program] = []
        self._screen = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server", check=False)
        # A CLI that is hung up still writes to its HOME while it ends; the next step of a test must not race with that.
        for program in self._programs:
            program.end()
        self._room.cleanup()

    def run(self, argv: list[str], env: dict[str, str], cwd: Path) -> Program:
        """Start the program in a new pane. Its environment is exactly `env`."""
        name = f"run{len(self._programs) + 1}"
        # The status of an exit is written by the wrapping shell: tmux 3.3a loses pane_dead_status at times.
        status, pid = Path(self._room.name) / f"{name}.status", Path(self._room.name) / f"{name}.pid"
        inner = f"echo $$ > {pid}; exec env -i {shlex.join([f'{k}={v}' for k, v in env.items()])} {shlex.join(argv)}"
        script = Path(self._room.name) / f"{name}.sh"
        ending = f"echo $? > {status}.new; mv {status}.new {status}; exec sleep 100000"
        script.write_text(f"sh -c {shlex.quote(inner)}\n{ending}\n")
        x, y = self._size
        self._tmux("new-session", "-d", "-x", x, "-y", y, "-s", name, "-c", str(cwd), "sh", str(script))
        self._programs.append(Program(self, name, status, pid))
        return self._programs[-1]

    def _tmux(self, *arguments: str, check: bool = True) -> str:
        command = ["tmux", "-S", str(self._socket), "-f", "/dev/null", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=check, timeout=60).stdout


class Program:
    """One program in one pane."""

    def __init__(self, terminal: Terminal, name: str, status: Path, pid: Path) -> None:
        self._terminal, self._name, self._status, self._pid = terminal, name, status, pid

    def screen(self) -> str:
        return self._terminal._tmux("capture-pane", "-p", "-t", f"={self._name}:")

    def title(self) -> str:
        return self._terminal._tmux("display-message", "-p", "-t", f"={self._name}:", "#{pane_title}").strip()

    def type(self, *keys: str) -> None:
        """Send keys by tmux's names (`Enter`, `Down`, `C-c`); other strings are typed."""
        self._terminal._tmux("send-keys", "-t", f"={self._name}:", *keys)

    def wait_screen(self, pattern: str, timeout: float = 60.0) -> str:
        """The screen, once it shows the pattern. A pane has no event for that, so it is polled."""
        deadline = time.monotonic() + timeout
        while not re.search(pattern, shown := self.screen(), re.DOTALL):
            if time.monotonic() > deadline:
                raise TimeoutError(f"no {pattern!r} on the screen within {timeout} s:\n{shown}")
            time.sleep(0.1)
        return shown

    def wait_exit(self, timeout: float = 60.0) -> int:
        """The exit status as a shell sees it (128 + signal for a killed one)."""
        deadline = time.monotonic() + timeout
        while not self._status.exists():
            if time.monotonic() > deadline:
                raise TimeoutError(f"still running after {timeout} s:\n{self.screen()}")
            time.sleep(0.02)
        return int(self._status.read_text())

    @property
    def alive(self) -> bool:
        return not self._status.exists()

    @property
    def pid(self) -> int:
        deadline = time.monotonic() + 60
        while not (self._pid.exists() and self._pid.read_text().endswith("\n")):
            if time.monotonic() > deadline:
                raise TimeoutError("the program did not start")
            time.sleep(0.01)
        return int(self._pid.read_text())

    def end(self, timeout: float = 10.0) -> None:
        """Wait until the hung-up program is gone, and kill it when it does not go."""
        if not self._pid.exists():
            return
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if not select.select([handle], [], [], timeout)[0]:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                select.select([handle], [], [], timeout)
        finally:
            os.close(handle)

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        os.kill(self.pid, number)
