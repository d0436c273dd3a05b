"""Hooks by the thousand: 100 agents post 4,000 a second for 10 s, and an order is given meanwhile again and again.

Two of three are tool calls; every third is a prompt or the end of a turn, which decides something. Afterwards the
journal says which of those it heard of: a row of its own, or one that says for how many it stands.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import tempfile
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from phoenixd.demo.stage import Stage
from tests.bench import links
from tests.bench.arena import Figures, cpu_seconds
from tests.bench.heard import DECIDES, lost, waited
from tests.bench.marked.starting import mark
from tests.bench.orders import Asked, asking, heard, print_orders, read_marks
from tests.bench.scale import Scale
from tests.bench.weights import join, weighed

AGENTS, RATE, SECONDS = 100, 4000, 10.0
CALM = 4
"""By how much a flood is smaller that leaves processors idle."""
CYCLE = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "PreToolUse", "PostToolUse")


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
    open: deque[float] = field(default_factory=deque)
    """When each hook was posted that is not answered yet."""
    took: list[float] = field(default_factory=list)
    """Milliseconds from a hook to its answer."""

    def connect(self) -> None:
        """Just before the first hook: a shim closes what stays silent."""
        self.connection.connect(("127.0.0.1", self.port))

    def post(self) -> None:
        event = CYCLE[self.asked % len(CYCLE)]
        body = {"hook_event_name": event, "session_id": self.session, "prompt": f"{self.asked}", "tool_name": "Bash",
                "tool_use_id": f"t{self.asked // 3}", "tool_input": {"command": "make test"}}  # fmt: skip
        content = json.dumps(body)
        self.open.append(time.monotonic())
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
            self.took.append((time.monotonic() - self.open.popleft()) * 1000)
            self.refused += b" 200 " not in self.buffer[:20]
            self.buffer = self.buffer[end + 4 + length :]


def report(scale: Scale) -> bool:
    """Both floods: of hooks that agents post, and of events at the daemon's links."""
    return all([_report(scale), links.report(scale)])


def _report(scale: Scale) -> bool:
    """The flood, and one of so few hooks that processors are left; then what the journal has of both."""
    agents, rate, seconds = (4, 100, 2.0) if scale.quick else (AGENTS, RATE, SECONDS)
    with tempfile.TemporaryDirectory(prefix="phx-bench-") as directory, _stage(Path(directory), agents) as stage:
        posters = [_poster(stage, f"a{number:03}") for number in range(agents)]
        quiet = heard(asking(stage, 2.0 if scale.quick else 5.0))
        for one in posters:
            one.connect()
        _flood(stage, posters, quiet, rate, seconds)
        _flood(stage, posters, quiet, rate // CALM, seconds / 2)
        assert stage.process is not None
        with weighed("phx-bench-flood", [stage.process.pid], _of(stage)) as operator:
            if operator is None:
                print("\nnot measured with the service's CPUWeight=1000: this host lets no group be made")
            else:
                print("\nand with the service's CPUWeight=1000:")
                _flood(stage, posters, quiet, rate, seconds, operator)
        missing = lost(stage, {one.name: sum(one.sent[kind] for kind in DECIDES) for one in posters})
    sent, answered = sum(one.asked for one in posters), sum(one.answered for one in posters)
    refused = sum(one.refused for one in posters)
    print(f"\nof {sum(one.sent[kind] for one in posters for kind in DECIDES)} that decide, not journaled: {missing}")
    print(f"{answered} of {sent} answered, {refused} of them refused")
    return refused == 0 and missing == 0 and answered == sent


def _flood(
    stage: Stage,
    posters: list[Poster],
    quiet: dict[str, Asked],
    rate: int,
    seconds: float,
    operator: Path | None = None,
) -> None:
    """Print what came of one, and who had the processors meanwhile; operator: the group of who orders."""
    assert stage.process is not None
    daemon, shims = stage.process.pid, _of(stage)
    client = asking(stage, seconds)
    if operator is not None:
        join(operator, [client.pid])
    parties = {"daemon": [daemon], "shims": shims, "generator": [os.getpid()], "orders": [client.pid]}
    before = {name: cpu_seconds(pids) for name, pids in parties.items()}
    began, starved, asked = time.monotonic(), waited(daemon), sum(one.asked for one in posters)
    for one in posters:
        one.took.clear()
    _post(posters, rate, seconds)
    took, starved = time.monotonic() - began, waited(daemon) - starved
    cpu = {name: cpu_seconds(pids) - before[name] for name, pids in parties.items()}
    orders, sent = heard(client), sum(one.asked for one in posters) - asked
    answers = Figures([each for one in posters for each in one.took])
    print(f"\n{rate} hooks a second over HTTP from {len(posters)} agents for {seconds:.0f} s")
    print(f"sent {sent / took:.0f} a second, answered in {answers.text()} ms (median / p99)")
    costs = {name: 1e6 * cpu[name] / max(1, sent) for name in ("daemon", "shims")}
    print(f"CPU us a hook: {', '.join(f'{name} {cost:.0f}' for name, cost in costs.items())}")
    shares = ", ".join(f"{name} {seconds / took:.2f}" for name, seconds in cpu.items())
    print(f"cores: {shares} of {os.cpu_count()}; the daemon's loop waited {starved / took:.0%} of the time for one")
    print_orders(quiet, orders, read_marks(stage.root / "marks"))


def _of(stage: Stage) -> list[int]:
    """The shims, by the state directory in their command lines."""
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            line = Path("/proc", entry, "cmdline").read_bytes() if entry.isdecimal() else b""
            if b"shim" in line and os.fsencode(stage.root) in line:
                found.append(int(entry))
    return found


@contextlib.contextmanager
def _stage(root: Path, agents: int):  # type: ignore[no-untyped-def]
    """Agents that hand their environment to the benchmark, which then makes their own calls."""
    stage = Stage(root / "phoenixd")
    mark(stage, "ordered_daemon", stage.root / "marks")
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
