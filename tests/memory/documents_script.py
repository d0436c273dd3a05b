"""A process that writes an agent's documents and says what is done: what the crash tests kill and starve.

`python -m tests.memory.documents_script DIRECTORY COUNT` prints `doc NAME DIGEST` for each version of a document
that is in its place, `line NAME DIGEST` for each line, and `resolved N` and `switched N` once that holds.
Status 3: a write failed, which was said in an orderly way.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from datetime import date
from hashlib import sha256
from pathlib import Path

from phoenixd.config.tables import ConfigurationTable
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Stopped
from phoenixd.core.spec import AgentSpec
from phoenixd.documents.brief.record import BriefRecord
from phoenixd.documents.ops import Occurrence
from phoenixd.documents.resolved import resolution
from phoenixd.documents.state import OpenLoop, StateDocument
from phoenixd.drivers.files import plain as files
from phoenixd.errors import PhoenixdError
from phoenixd.memory.brief.switch import Switch
from phoenixd.memory.desk import Desk
from phoenixd.memory.files import Files, Location
from tests.start.places import NOW

TODAY = date(2026, 11, 21)
WHOLE = ("state.json", "brief.md", "session.json", "brief.json")
"""Documents that are replaced: the old version stands, or the new one."""
LINES = ("resolved.jsonl", "ops.jsonl")
"""Documents that only grow."""
PID = 4711
"""Told to be this process's, so that the names of temporary files are known beforehand."""


class Told:
    """The file driver, and a word about each thing that it has done."""

    read_plain = staticmethod(files.read_plain)
    ensure_private_dir = staticmethod(files.ensure_private_dir)

    def replace(self, path: Location, data: bytes, mode: int = 0o600, durable: bool = True) -> None:
        files.replace(path, data, mode, durable)
        say(f"doc {os.path.basename(path)} {digest(data)}")

    def replace_unchanged(self, path: Location, data: bytes, expected: bytes | None, mode: int = 0o600) -> bool:
        written = files.replace_unchanged(path, data, expected, mode)
        if written:
            say(f"doc {os.path.basename(path)} {digest(data)}")
        return written

    def append(self, path: Location, line: bytes, mode: int = 0o600, durable: bool = True) -> None:
        files.append(path, line, mode, durable)
        say(f"line {os.path.basename(path)} {digest(line)}")


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:16]


def a_desk(directory: Path, through: Files | None = None) -> Desk:
    return Desk.of("a", directory, through or Told(), ConfigurationTable())


def an_agent(number: int) -> Agent:
    agent = Agent(AgentSpec("a", ("agent",), "/", prompt="Do it."), Desired.RUNNING, Stopped(), NOW, "declared")
    return replace(agent, last_prompt=f"task {number}", incarnation=number)


def first_state(count: int) -> StateDocument:
    loops = [OpenLoop(id=f"loop-{number}", text=f"loop {number}", added="2026-11-20") for number in range(count)]
    return StateDocument(agent="a", open_loops=tuple(loops), numbers={"tests": "1/2"})


def write(desk: Desk, number: int) -> None:
    """One round: what happened, the state, the brief, a loop that is closed, and a brief that switches both."""
    agent = an_agent(number)
    happened = Occurrence(NOW + number, "hook_seen", 1, {"kind": "stop", "text": f"turn {number}"}, "running", "")
    state = desk.settle(agent, NOW + number, [happened])
    desk.shelf.write_session(agent)
    desk.write_brief(agent, state, NOW + number, anew=True)
    done = desk.shelf.resolve(resolution(f"loop-{number}", "done", NOW, "a"), TODAY)
    assert done in ("resolved", "already")
    say(f"resolved {number}")
    base = desk.consult(NOW + number)
    ours = base.model_copy(update={"numbers": {"tests": f"{number}/99"}})
    desk.switch_brief(agent, Switch(agent="a", base=base, ours=ours, documents={}), BriefRecord(agent="a"), NOW)
    say(f"switched {number}")


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def main() -> int:
    directory, count = Path(sys.argv[1]), int(sys.argv[2])
    os.getpid = lambda: PID
    desk = a_desk(directory)
    say("open")
    try:
        for number in range(count):
            write(desk, number)
    except (OSError, PhoenixdError) as error:
        say(f"refused {error}")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
