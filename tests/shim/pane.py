"""A shim on a pseudo terminal, and the daemon's end of its link."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.waiting import eventually_sync

Event = dict[str, Any]
TOKEN = "0123456789abcdef0123456789abcdef"
DEADLINE = 60.0


class Pane:
    """One shim, one terminal; `room` is its directory of files, state and sockets."""

    def __init__(self, library: Path, room: Path, agent: str = "a") -> None:
        self.agent = agent
        self.library = library
        self.room = room
        self.state = room / "state"
        self.run = room / "run"
        self.output = b""
        self._incarnation = 0
        self._daemons: list[Daemon] = []
        self.open()

    def open(self) -> None:
        """Start the shim as the leader of a session that has the pseudo terminal as its own."""
        self.master, slave = os.openpty()
        self.terminal_path = os.ttyname(slave)
        # The shell leads a session without a terminal, so that the first one it opens becomes its controlling terminal.
        self.process = subprocess.Popen(
            ["sh", "-c", 'exec "$@" <>"$0" >&0 2>&1', self.terminal_path, *self.command()],
            start_new_session=True,
            env={"PATH": os.environ["PATH"]},
        )
        os.close(slave)
        self.pid = self.process.pid

    def command(self) -> list[str]:
        directory = str(self.library / "shim")
        options = ["--agent", self.agent, "--state", str(self.state), "--run", str(self.run), "--version", "0.1.0"]
        return [sys.executable, "-I", "-S", directory, *options]

    def connect(self) -> Daemon:
        def attempt() -> Daemon | None:
            self.read_screen()
            assert self.process.poll() is None, self.output.decode(errors="replace")
            return Daemon.try_to_connect(self)

        return self.connected(attempt)

    def connected(self, attempt: Callable[[], Daemon | None]) -> Daemon:
        """The daemon that an attempt brings at last; closed together with the pane."""
        daemon = eventually_sync(attempt, DEADLINE, "the shim listens")
        assert daemon is not None
        self._daemons.append(daemon)
        return daemon

    def daemon(self) -> Daemon:
        """A connected daemon that has said hello."""
        daemon = self.connect()
        daemon.hello()
        return daemon

    def order(self, argv: list[str], **changes: Any) -> dict[str, Any]:
        self._incarnation += 1
        incarnation = self._incarnation
        run_id = f"{self.agent}-{incarnation}-{os.urandom(6).hex()}"
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.room),
            "TERM": "screen-256color",
            "PHOENIX_AGENT": self.agent,
            "PHOENIX_INCARNATION": str(incarnation),
            "PHOENIX_RUN_ID": run_id,
            "PHOENIX_HOOK_DIR": str(self.run),
            "PHOENIX_STATE_DIR": str(self.state),
            "PHOENIX_TOKEN": TOKEN,
            **changes.pop("extra_env", {}),
        }
        return {
            "protocol": 1,
            "agent": self.agent,
            "incarnation": incarnation,
            "run_id": run_id,
            "argv": argv,
            "env": env,
            "cwd": str(self.room),
            "token": TOKEN,
            "cgroup": None,
            "intent": None,
            "interpret_exit_zero_as_clean": True,
            "mode": "fresh",
            "session_id": "5e551011",
            **changes,
        }

    def record(self, name: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.state / name).read_bytes())
        return content

    def read_screen(self) -> bytes:
        """All that was written to the terminal so far."""
        while self.master >= 0 and select.select([self.master], [], [], 0)[0]:
            try:
                chunk = os.read(self.master, 65536)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                break
            if not chunk:
                break
            self.output += chunk
        return self.output

    def shows(self, text: str) -> None:
        eventually_sync(lambda: text.encode() in self.read_screen(), DEADLINE, f"{text!r} on the terminal")

    def type(self, text: bytes) -> None:
        os.write(self.master, text)

    def hang_up(self) -> None:
        os.close(self.master)
        self.master = -1

    def end(self) -> None:
        for daemon in self._daemons:
            daemon.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        if self.master >= 0:
            os.close(self.master)
        try:
            self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.sweep()

    def sweep(self) -> None:
        """What a test that failed left behind: every process with this pane's own directory in its environment."""
        mark = f"\0PHOENIX_HOOK_DIR={self.run}\0".encode()
        # Without a look whether they are there: a process may end in that instant.
        for environment in [one / "environ" for one in Path("/proc").glob("[0-9]*")]:
            try:
                if mark in b"\0" + environment.read_bytes():
                    os.kill(int(environment.parent.name), signal.SIGKILL)
            except OSError:  # Gone, or another user's.
                continue


class Daemon:
    """What the daemon is to the shim: packets, in order."""

    def __init__(self, pane: Pane, link: socket.socket) -> None:
        self.pane = pane
        self.link = link
        self.events: list[Event] = []
        self._orders = 0
        link.settimeout(DEADLINE)

    @classmethod
    def try_to_connect(cls, pane: Pane) -> Daemon | None:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            link.connect(str(pane.run / "link.sock"))
        except (FileNotFoundError, ConnectionRefusedError):
            link.close()
            return None
        return cls(pane, link)

    def send(self, **message: Any) -> None:
        self.link.send(json.dumps(message).encode())

    def receive(self) -> Event:
        """The next packet; EOFError when the shim hung up. The terminal is read meanwhile, or an agent might wait."""
        deadline = time.monotonic() + DEADLINE
        while not select.select([self.link], [], [], 0.05)[0]:
            self.pane.read_screen()
            assert time.monotonic() < deadline, f"no event; seen: {self.events}"
        packet = self.link.recv(1 << 20)
        if not packet:
            raise EOFError
        assert len(packet) <= 65536
        event: Event = json.loads(packet)
        self.events.append(event)
        return event

    def expect(self, name: str, condition: Callable[[Event], bool] = lambda _: True) -> Event:
        """The next event of that name for which the condition holds; what comes before is kept in `events`."""
        while True:
            event = self.receive()
            if event["event"] == name and condition(event):
                return event

    def is_silent(self) -> bool:
        """Nothing has come, and nothing is on its way: the shim answers a hello after all that it had to say."""
        before = len(self.events)
        self.hello()
        return self.events[before:-1] == []

    def hello(self) -> Event:
        self.send(op="hello", protocol=1, version="0.1.0")
        return self.expect("hello")

    def give(self, order: dict[str, Any]) -> None:
        """Write the order and name it; the answer is for the caller to expect."""
        self._orders += 1
        path = self.pane.room / f"order-{order['incarnation']}-{self._orders}.json"
        path.write_text(json.dumps(order))
        self.send(op="start", order=str(path), incarnation=order["incarnation"], run_id=order["run_id"])

    def start(self, argv: list[str], **changes: Any) -> Event:
        """Order a run and wait for its start."""
        self.give(self.pane.order(argv, **changes))
        event = self.receive()
        while event["event"] not in ("started", "start_failed"):
            event = self.receive()
        assert event["event"] == "started", event
        return event

    def start_failure(self, argv: list[str], **changes: Any) -> Event:
        self.give(self.pane.order(argv, **changes))
        return self.expect("start_failed")

    def run_to_end(self, argv: list[str], **changes: Any) -> Event:
        started = self.start(argv, **changes)
        return self.expect("exited", lambda event: event["run_id"] == started["run_id"])

    def kill(self, started: Event) -> Event:
        self.send(op="kill", incarnation=started["incarnation"])
        return self.expect("exited")

    def close(self) -> None:
        self.link.close()


def is_running(pid: int) -> bool:
    """Whether there is such a process, and it is no zombie."""
    try:
        content = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return content[content.rindex(b")") + 2 :][:1] not in (b"Z", b"X")


def sleeps_without_a_deadline(pid: int) -> bool:
    """In epoll_wait or epoll_pwait, whose fourth argument is the timeout in milliseconds; -1 is none."""
    fields = Path(f"/proc/{pid}/syscall").read_text().split()
    return fields[0] in ("232", "281", "22") and int(fields[4], 16) & 0xFFFFFFFF == 0xFFFFFFFF
