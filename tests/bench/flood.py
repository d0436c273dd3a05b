"""Hooks by the thousand: 100 agents post 4,000 a second for 10 s, and an order is given meanwhile again and again.

Two of three are tool calls; every third is a prompt or the end of a turn, which decides something. Afterwards the
journal says which of those it heard of: a row of its own, or one that says for how many it stands.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import select
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from phoenixd.demo.stage import Stage
from tests.bench.arena import Figures, cpu_seconds
from tests.bench.scale import Scale

AGENTS, RATE, SECONDS = 100, 4000, 10.0
ORDERS, ORDERS_EVERY = ("start", "mute"), 0.1
"""One that stands in the queue, and one that goes before it; and the seconds between two of them."""
AIM = 20.0
"""Milliseconds in which 99 of 100 orders are done."""
CYCLE = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "PreToolUse", "PostToolUse")
DECIDES = {"UserPromptSubmit": "prompt-submit", "Stop": "stop"}


@dataclass(slots=True)
class Poster:
    """One agent's connection to its own shim, which posts the next hook of its cycle."""

    name: str
    port: int
    head: str
    session: str
    connection: socket.socket = field(default_factory=socket.socket)
    sent: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    answered: int = 0
    refused: int = 0
    buffer: bytes = b""

    def connect(self) -> None:
        """Just before the first hook: a shim closes what stays silent."""
        self.connection.connect(("127.0.0.1", self.port))

    def post(self) -> None:
        event = CYCLE[self.asked % len(CYCLE)]
        body = {"hook_event_name": event, "session_id": self.session, "prompt": f"{self.asked}", "tool_name": "Bash",
                "tool_use_id": f"t{self.asked // 3}", "tool_input": {"command": "make test"}}  # fmt: skip
        content = json.dumps(body)
        self.connection.sendall(f"{self.head}Content-Length: {len(content)}\r\n\r\n{content}".encode())
        self.asked += 1
        self.sent[event] += 1

    def hear(self) -> None:
        self.buffer += self.connection.recv(65536)
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
            if len(self.buffer) < end + 4 + length:
                return
            self.answered += 1
            self.refused += b" 200 " not in self.buffer[:20]
            self.buffer = self.buffer[end + 4 + length :]


def report(scale: Scale) -> bool:
    """Print what came of it, and who had the processors meanwhile."""
    agents, rate, seconds = (4, 100, 2.0) if scale.quick else (AGENTS, RATE, SECONDS)
    with tempfile.TemporaryDirectory(prefix="phx-bench-") as directory, _stage(Path(directory), agents) as stage:
        posters = [_poster(stage, f"a{number:03}") for number in range(agents)]
        quiet = _heard(_asking(stage, 2.0 if scale.quick else 5.0))
        assert stage.process is not None
        daemon, shims = stage.process.pid, _of(stage)
        asking = _asking(stage, seconds)
        parties = {"daemon": [daemon], "shims": shims, "generator": [os.getpid()], "orders": [asking.pid]}
        before = {name: cpu_seconds(pids) for name, pids in parties.items()}
        began, waited = time.monotonic(), _waited(daemon)
        _post(posters, rate, seconds)
        took, waited = time.monotonic() - began, _waited(daemon) - waited
        cpu = {name: cpu_seconds(pids) - before[name] for name, pids in parties.items()}
        orders = _heard(asking)
        lost = _lost(stage, posters)
    sent, answered = sum(one.asked for one in posters), sum(one.answered for one in posters)
    refused = sum(one.refused for one in posters)
    print(f"\n{rate} hooks a second over HTTP from {agents} agents for {seconds:.0f} s")
    print(f"sent {sent / took:.0f} a second, {answered} of {sent} answered, {refused} of them refused")
    print(f"the daemon's CPU: {cpu['daemon']:.1f} s, {1e6 * cpu['daemon'] / max(1, sent):.0f} us a hook")
    shares = ", ".join(f"{name} {seconds / took:.2f}" for name, seconds in cpu.items())
    print(f"cores: {shares} of {os.cpu_count()}; the daemon's loop waited {waited / took:.0%} of the time for one")
    for order in ORDERS:
        before_it, meanwhile = quiet[order].text(), orders[order].text()
        print(f"{order}: median / p99 {before_it} ms before, {meanwhile} ms meanwhile (aim: p99 {AIM:g} ms)")
    print(f"of {sum(one.sent[kind] for one in posters for kind in DECIDES)} that decide, not journaled: {lost}")
    return refused == 0 and lost == 0 and answered == sent


def _of(stage: Stage) -> list[int]:
    """The shims, by the state directory in their command lines."""
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            line = Path("/proc", entry, "cmdline").read_bytes() if entry.isdecimal() else b""
            if b"shim" in line and os.fsencode(stage.root) in line:
                found.append(int(entry))
    return found


def _waited(pid: int) -> float:
    """Seconds for which a process's first thread was ready to run and had no processor."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9


@contextlib.contextmanager
def _stage(root: Path, agents: int):  # type: ignore[no-untyped-def]
    """Agents that hand their environment to the benchmark, which then makes their own calls."""
    stage = Stage(root / "phoenixd")
    program = root / "agent"
    program.write_text(
        f"#!/bin/sh\nenv -0 > {root}/$PHOENIX_AGENT.new; mv {root}/$PHOENIX_AGENT.new {root}/$PHOENIX_AGENT.env\n"
        # As a CLI does: until its first evidence an agent counts as starting, and few may start at once.
        'printf "%s" "{\\"session_id\\": \\"$PHOENIX_SESSION_ID\\", \\"source\\": \\"startup\\"}"'
        ' | "$PHOENIX_HOOK" session-start\n'
        "exec sleep 100000\n"
    )
    program.chmod(0o755)
    for number in range(agents):
        name = f"a{number:03}"
        stage.declare(name, f'[agent.{name}]\nharness = "claude"\nargv = ["{program}"]\ncwd = "/"\n')
    stage.up()
    try:
        yield stage
    finally:
        stage.down()


def _poster(stage: Stage, name: str) -> Poster:
    told = stage.root.parent / f"{name}.env"
    stage.until(f"{name} told its environment", told.exists, 120)
    pairs = told.read_text().rstrip("\0").split("\0")
    environ = dict(pair.split("=", 1) for pair in pairs)
    settings = json.loads((stage.state / "agents" / name / "settings.json").read_text())
    url = urlsplit(settings["hooks"]["PostToolUse"][0]["hooks"][0]["url"])
    head = (
        f"POST {url.path} HTTP/1.1\r\nHost: 127.0.0.1:{url.port}\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {environ['PHOENIX_TOKEN']}\r\n"
    )
    return Poster(name, url.port or 80, head, environ.get("PHOENIX_SESSION_ID", "0"))


def _post(posters: list[Poster], rate: int, seconds: float) -> None:
    """Each agent posts in turn, at an even pace, as long as its last hook was answered."""
    poll = select.epoll()
    for one in posters:
        one.connect()
    by_number = {one.connection.fileno(): one for one in posters}
    for number in by_number:
        poll.register(number, select.EPOLLIN)
    began, sent = time.monotonic(), 0

    def hear(patience: float) -> None:
        for number, _ in poll.poll(patience):
            by_number[number].hear()

    while (elapsed := time.monotonic() - began) < seconds:
        due = int(elapsed * rate)
        for _ in range(due - sent):
            poster = posters[sent % len(posters)]
            sent += 1
            if poster.asked - poster.answered < 4:
                poster.post()
        hear(0.002)
    give_up = time.monotonic() + 30
    while any(one.answered < one.asked for one in posters) and time.monotonic() < give_up:
        hear(0.1)
    poll.close()


def _asking(stage: Stage, seconds: float) -> subprocess.Popen[str]:
    """Who gives the orders, in a process of its own: beside the generator each would wait for its turn of Python."""
    argv = [sys.executable, "-m", "tests.bench.flood", str(stage.runtime / "api.sock"), str(seconds)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])


def _heard(asking: subprocess.Popen[str]) -> dict[str, Figures]:
    told, _ = asking.communicate()
    return {order: Figures(**figures) for order, figures in json.loads(told).items()}


def _ask(path: str, seconds: float) -> dict[str, Figures]:
    """Milliseconds of an operator's order each tenth of a second: to start an agent that runs, then to mute one."""
    figures, give_up, number = {order: Figures() for order in ORDERS}, time.monotonic() + seconds, 0
    while time.monotonic() < give_up:
        order = ORDERS[number % len(ORDERS)]
        connection = _UnixConnection(path)
        began = time.monotonic()
        told, kind = json.dumps({"for": "1h"} if order == "mute" else {}), {"Content-Type": "application/json"}
        connection.request("POST", f"/v1/agents/a{number % 4:03}/{order}", told, kind)
        answer = connection.getresponse()
        answer.read()
        if answer.status < 300:
            figures[order].samples.append((time.monotonic() - began) * 1000)
        else:
            figures[order].missed += 1
        connection.close()
        number += 1
        time.sleep(ORDERS_EVERY)
    return figures


def _lost(stage: Stage, posters: list[Poster], patience: float = 180.0) -> int:
    """How many hooks that decide have no row in the journal, once it has had time for them."""
    give_up = time.monotonic() + patience
    sent = {one.name: sum(one.sent[kind] for kind in DECIDES) for one in posters}
    while True:
        heard: Counter[str] = Counter()
        with contextlib.closing(sqlite3.connect(f"file:{stage.state}/journal.sqlite3?mode=ro", uri=True)) as journal:
            for agent, detail in journal.execute("SELECT agent, detail FROM entries WHERE event = 'hook_seen'"):
                told = json.loads(detail)
                if told.get("kind") in DECIDES.values():
                    heard[agent] += 1 + int(told.get("more") or 0)
        lost = sum(max(0, sent[name] - heard[name]) for name in sent)
        if lost == 0 or time.monotonic() > give_up:
            return lost
        time.sleep(1)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("phoenixd", timeout=60)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)


if __name__ == "__main__":
    print(json.dumps({order: asdict(figures) for order, figures in _ask(sys.argv[1], float(sys.argv[2])).items()}))
