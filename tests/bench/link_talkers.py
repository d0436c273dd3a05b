"""`python -m tests.bench.link_talkers RUNTIME_DIR AGENTS RATE SECONDS`: shims in one cheap process, for a flood.

Each speaks a shim's protocol on a socket of its own, and sends as a shim does: signs of life together, at most one
batch in INTERVAL; what decides at once, behind the signs of life that wait. What the daemon does not read is kept
likewise: of signs of life the newest, and what decides whole.

It prints a line once it listens, floods when a line comes in, prints what it sent, and ends with its input.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import time
from collections import Counter, deque
from pathlib import Path
from typing import Any

from phoenixd.directories import make_private
from phoenixd.drivers.processes.proc import boot_id

INTERVAL = 0.1
MOST = 64
"""Signs of life that a shim keeps for a daemon that does not read."""
DECIDING = ("prompt-submit", "stop")
EVIDENCE = ("tool-start", "tool-end")
PATIENCE = 30.0
PACKET = 65536


class Talker:
    """One of them. batch: as many signs of life as its agent gives in INTERVAL, with one hook that decides."""

    def __init__(self, runtime: Path, name: str, batch: int) -> None:
        self.name = name
        self.batch = batch
        directory = runtime / "agents" / name
        make_private(directory.parent)
        make_private(directory)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        self.listener.bind(str(directory / "link.sock"))
        self.listener.listen()
        self.link: socket.socket | None = None
        self.child: subprocess.Popen[bytes] | None = None
        self.run: dict[str, Any] | None = None
        self.seq = self.acknowledged = 0
        self.deciding: deque[bytes] = deque()
        self.evidence: deque[bytes] = deque(maxlen=MOST)
        self.sent = Counter[str]()
        self.calls = self.merged = self.packets = 0

    def accept(self) -> socket.socket:
        self.link, _ = self.listener.accept()
        self.link.setblocking(False)
        return self.link

    def hear(self) -> bool:
        """Do what the daemon says; False where it has hung up."""
        assert self.link is not None
        try:
            packet = self.link.recv(PACKET)
        except BlockingIOError:
            return True
        if not packet:
            return False
        message = json.loads(packet)
        match message["op"]:
            case "hello":
                self._greet(message)
            case "start":
                self._start(Path(message["order"]))
            case "terminate" | "kill":
                self._end()
            case "ack":
                self.acknowledged = max(self.acknowledged, message["seq"])
        return True

    def talk(self) -> None:
        """What comes of INTERVAL."""
        for number in range(self.batch):
            self.merged += len(self.evidence) == MOST
            self.calls += number % 2 == 0
            self.evidence.append(self._hook(EVIDENCE[number % 2], 0))
        self.seq += 1
        kind = DECIDING[self.seq % 2]
        self.sent[kind] += 1
        self.deciding.append(self._hook(kind, self.seq))
        self.pump()

    def pump(self) -> None:
        """Send what waits, as far as the socket takes it."""
        assert self.link is not None
        with contextlib.suppress(BlockingIOError):
            if self.evidence:
                self.link.send(b'{"event":"hooks","batch":[%s]}' % b",".join(self.evidence))
                self.packets += 1
                self.sent["evidence"] += len(self.evidence)
                self.evidence.clear()
            while self.deciding:
                self.link.send(self.deciding[0])
                self.packets += 1
                self.deciding.popleft()

    def close(self) -> None:
        if self.child is not None:
            self.child.kill()
            self.child.wait()

    def _greet(self, message: dict[str, Any]) -> None:
        own = {"pid": os.getpid(), "start_time": _start_time(os.getpid()), "boot_id": boot_id()}
        self._say(
            {"event": "hello", "protocol": 2, "version": message["version"], "agent": self.name, "hook_port": 1,
             "owner": message.get("owner"), **own, "run": self.run, "exit": None, "held": [], "last_seq": self.seq,
             "epoch": 0, "unswept": [], "armed": [], "answered": []}
        )  # fmt: skip

    def _start(self, path: Path) -> None:
        order = json.loads(path.read_bytes())
        path.unlink()
        self.child = subprocess.Popen(["sleep", "100000"], stdin=subprocess.DEVNULL)
        pid = self.child.pid
        self.run = {
            **{name: order[name] for name in ("incarnation", "run_id", "session_id", "mode", "epoch")}, "pid": pid,
            "start_time": _start_time(pid), "started_at": "2026-11-21T10:00:00.000Z",
        }  # fmt: skip
        self._say({"event": "started", **self.run})
        self.seq += 1
        assert self.link is not None
        self.link.send(self._hook("session-start", self.seq))

    def _end(self) -> None:
        if self.run is None:
            return
        self.close()
        run, self.run = self.run, None
        self._say(
            {"event": "exited", "incarnation": run["incarnation"], "run_id": run["run_id"], "code": None, "signal": 9,
             "cause": "operator"}
        )  # fmt: skip

    def _hook(self, kind: str, seq: int) -> bytes:
        assert self.run is not None
        payload = {"session_id": self.run["session_id"], "prompt": str(seq), "tool_name": "Bash",
                   "tool_use_id": f"t{self.calls}", "tool_input": {"command": "make test"}}  # fmt: skip
        event = {"event": "hook", "seq": seq, "incarnation": self.run["incarnation"], "run_id": self.run["run_id"],
                 "kind": kind, "at": "2026-11-21T10:00:00.000Z", "ticks": 1, "payload": payload}  # fmt: skip
        return json.dumps(event, separators=(",", ":")).encode()

    def _say(self, message: dict[str, Any]) -> None:
        assert self.link is not None
        self.link.send(json.dumps(message).encode())


class Crowd:
    """All of them on one epoll."""

    def __init__(self, runtime: Path, agents: int, batch: int) -> None:
        self.talkers = [Talker(runtime, f"a{number:03}", batch) for number in range(agents)]
        self._poll = select.epoll()
        self._listeners = {one.listener.fileno(): one for one in self.talkers}
        self._links: dict[int, Talker] = {}
        for number in (*self._listeners, sys.stdin.fileno()):
            self._poll.register(number, select.EPOLLIN)

    def hear(self, patience: float) -> bool:
        """Serve what came; False where a line, or the end, is to be read from stdin."""
        goes_on = True
        for number, _ in self._poll.poll(patience):
            if number == sys.stdin.fileno():
                goes_on = False
            elif number in self._listeners:
                link = self._listeners[number].accept()
                self._links[link.fileno()] = self._listeners[number]
                self._poll.register(link.fileno(), select.EPOLLIN)
            elif not self._links[number].hear():
                self._poll.unregister(number)
                del self._links[number]
        return goes_on

    def flood(self, seconds: float) -> None:
        """Each talks once in INTERVAL, one after the other; then what still waits is sent."""
        count, said = len(self.talkers), 0
        began = time.monotonic()
        while (elapsed := time.monotonic() - began) < seconds:
            for _ in range(int(elapsed * count / INTERVAL) - said):
                self.talkers[said % count].talk()
                said += 1
            self.hear(0.002)
        give_up = time.monotonic() + PATIENCE
        while any(one.deciding for one in self.talkers) and time.monotonic() < give_up:
            self.hear(0.01)
            for one in self.talkers:
                one.pump()

    def told(self) -> dict[str, Any]:
        sent = sum((one.sent for one in self.talkers), Counter[str]())
        return {
            "events": sent.total(), "packets": sum(one.packets for one in self.talkers),
            "merged": sum(one.merged for one in self.talkers),
            "unsent": sum(len(one.deciding) for one in self.talkers),
            "deciding": {one.name: sum(one.sent[kind] for kind in DECIDING) for one in self.talkers},
        }  # fmt: skip


def _start_time(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def main(runtime: Path, agents: int, rate: int, seconds: float) -> None:
    crowd = Crowd(runtime, agents, round(rate * INTERVAL / agents) - 1)
    try:
        print("listens", flush=True)
        while crowd.hear(1.0):
            pass
        if sys.stdin.readline():
            crowd.flood(seconds)
            print(json.dumps(crowd.told()), flush=True)
            while crowd.hear(1.0):
                pass
    finally:
        for one in crowd.talkers:
            one.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
