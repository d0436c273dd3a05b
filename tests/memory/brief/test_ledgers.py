"""What stands of a session's work comes into the material of its brief, and is kept between two daemons."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.rules import BriefRules, WriterKind
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.kept_ledger import VERSION, KeptLedger
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from phoenixd.errors import PhoenixdError
from phoenixd.memory.brief.ledgers import Kept
from phoenixd.ports.papers import WriterAnswer
from tests.start.places import NOW, Room, entry
from tests.transcripts.samples import tool_result, tool_use

SECRET = "hunter2-hunter2-hunter2"


@dataclass
class Desk:
    """A room whose papers read one transcript, and a writer that keeps what it was given."""

    room: Room
    path: Path
    materials: list[BriefMaterial] = field(default_factory=list)
    began: list[int | None] = field(default_factory=list)
    """How far the kept ledger went, each time that a reading asked for it."""
    failure: PhoenixdError | None = None

    async def write(self, agent: Agent, material: BriefMaterial, complaint: str | None = None) -> WriterAnswer:
        self.materials.append(material)
        return WriterAnswer(json.dumps({"agent": material.agent, "open_loops": []}))

    def restarted(self) -> None:
        files = TranscriptFiles(lambda agent: str(self.path))

        async def look(agent: Agent, kept: Kept, clean: Callable[[str], str]) -> KeptLedger | None:
            if self.failure is not None:
                raise self.failure

            async def told() -> KeptLedger | None:
                found = await kept()
                self.began.append(found.offset if found is not None else None)
                return found

            return await files.ledger(agent, told, clean)

        self.room.options = {"ledger": look, "writers": {WriterKind.COMMAND: self}}
        self.room.restarted()

    async def ledger(self) -> SessionLedger | None:
        """That of the brief that is written now."""
        brief = BriefRules(writer=WriterKind.COMMAND, command=("writer",))
        spec = self.room.spec(brief=brief, harness="claude", env=(("API_TOKEN", SECRET),))
        agent = self.room.running(self.room.agent(spec))
        await self.room.papers.publish(agent, [])
        await self.room.papers.briefing.generate(agent)
        return self.materials[-1].ledger

    def append(self, *lines: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(b"".join(lines))


@pytest.fixture
def desk(room: Room) -> Desk:
    made = Desk(room, room.home / "t.jsonl")
    made.restarted()
    return made


def task(number: int) -> tuple[bytes, bytes]:
    made = {"task": {"id": f"{number}", "subject": f"Task {number}"}}
    return tool_use(f"t-{number}", "TaskCreate", subject="x"), tool_result(f"t-{number}", toolUseResult=made)


async def test_the_brief_is_given_what_stands_and_the_next_daemon_goes_on_from_there(desk: Desk) -> None:
    desk.append(*task(1))
    first = await desk.ledger()
    desk.append(*task(2))
    second, kept = await desk.ledger(), desk.path.stat().st_size
    desk.restarted()
    desk.append(*task(3))
    third = await desk.ledger()

    told = [[row.text for row in one.tasks.rows] if one is not None else [] for one in (first, second, third)]
    assert told == [["Task 1"], ["Task 1", "Task 2"], ["Task 1", "Task 2", "Task 3"]]
    assert desk.began[0] is None
    assert desk.began[1:] == [kept]


async def test_what_was_kept_outlives_its_transcript(desk: Desk) -> None:
    desk.append(*task(1))
    await desk.ledger()
    desk.path.unlink()
    desk.restarted()

    found = await desk.ledger()

    assert found is not None
    assert [row.text for row in found.tasks.rows] == ["Task 1"]


async def test_no_secret_of_the_agents_is_kept_or_told(desk: Desk) -> None:
    desk.append(tool_use("t-1", command=f"curl -u a:{SECRET} x"), tool_result("t-1", "Exit code 1", failed=True))

    for _ in range(2):
        found = await desk.ledger()
        assert found is not None
        assert [SECRET in run.text for run in found.runs.values()] == [False]
    assert SECRET.encode() not in (desk.room.state / "ledger.json").read_bytes()


@pytest.mark.parametrize("broken", [b"", b"{", b"null", b'{"version": 9}', b"\xff" * 1000])
async def test_a_kept_ledger_that_is_broken_costs_a_whole_reading_and_no_more(desk: Desk, broken: bytes) -> None:
    desk.append(*task(1))
    await desk.ledger()
    (desk.room.state / "ledger.json").write_bytes(broken)
    desk.restarted()

    found = await desk.ledger()

    assert found is not None
    assert [row.text for row in found.tasks.rows] == ["Task 1"]
    assert json.loads((desk.room.state / "ledger.json").read_bytes())["version"] == VERSION


async def test_a_brief_there_is_also_where_the_ledger_cannot_be_had(desk: Desk) -> None:
    desk.failure = PhoenixdError("the disk is gone")

    assert await desk.ledger() is None
    assert desk.room.text("brief.md")


async def test_the_brief_is_told_when_a_hook_told_of_a_turns_end(desk: Desk) -> None:
    """The CLI itself may write no end of a turn."""
    desk.append(*task(1))
    await desk.ledger()
    agent = desk.room.running(desk.room.agent(desk.room.spec(harness="claude")))
    await desk.room.papers.publish(agent, [entry("hook_seen", kind="stop", text="It is fixed.")])
    await desk.ledger()

    assert [one.around.spoken_at for one in desk.materials] == [None, NOW]
