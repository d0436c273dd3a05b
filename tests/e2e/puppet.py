"""An agent that does what a test tells it: Python source on its socket, one JSON line each way."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

from tests.waiting import eventually_sync


class Puppet:
    """The test's end. `do` runs source inside the agent, and returns the repr of what it bound to `out`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def argv(self) -> list[str]:
        # By its place: as a module it would import phoenixd, which costs a start twice what it is for.
        return [sys.executable, "-I", "-S", str(Path(__file__).with_name("puppet_agent.py")), str(self.path)]

    def do(self, source: str) -> str:
        with socket.socket(socket.AF_UNIX) as line:
            eventually_sync(lambda: line.connect_ex(str(self.path)) == 0, what="the puppet listens")
            line.settimeout(90)
            line.sendall(json.dumps(source).encode() + b"\n")
            with line.makefile("rb") as answers:
                return str(json.loads(answers.readline()))
