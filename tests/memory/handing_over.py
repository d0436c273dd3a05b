"""A seat in mid-handoff, with a project of one phase and the transcript of its holder."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from phoenixd.core.actions import UpdatePapers, WriteAddendum, WritePackage
from phoenixd.core.agent import Agent
from phoenixd.core.events.handoffs import AddendumWritten, PackageWritten, PapersUpdated
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.rules import HandoffRules
from phoenixd.core.seat.names import generation_name
from phoenixd.core.seat.state import Seat
from phoenixd.core.spec import Kind
from phoenixd.documents.project.outcomes import Ended
from phoenixd.drivers.files import plain as plain_files
from phoenixd.drivers.files.session_files import ProjectFiles
from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from phoenixd.errors import WriterFailed
from phoenixd.jobs.kept import made_by
from phoenixd.memory.addenda import Addenda
from phoenixd.memory.handover import Handover
from phoenixd.memory.listings import ListingFiles
from phoenixd.ports.papers import WriterAnswer
from tests.start.places import NOW, Room
from tests.transcripts.samples import claude, tool_use

LAST = "The till is half done, and VAT is the odd one."
PLAN = b"# Phase 1\n\n## Tasks\n\n### Task 1: Lay the ground\n- **Status**: completed\n\n### Task 2: Build the till\n"


@dataclass
class Scene:
    """The seat `a` in mid-handoff, a project of one phase, and the transcript of the holder."""

    room: Room
    generation: int = 1
    agents: dict[str, Agent] = field(default_factory=dict)
    step: Step = Step.UPDATE
    ended: tuple[Ended, ...] = ()
    changes: dict[str, Any] = field(default_factory=dict)
    next: Handoff | None = None

    def __post_init__(self) -> None:
        phase = self.room.work / ".claude/projects/shop/phase-01-work"
        (phase / "artifacts").mkdir(parents=True)
        (phase / "plan.md").write_bytes(PLAN)
        (phase / "claude.md").write_text("# phase-01-work\n")
        self.files = TranscriptFiles(lambda agent: str(self.path(agent.name)))
        self.room.options = {"ledger": self.files.ledger, "holds": lambda one: one.name == self.seat.holder}
        self.room.restarted()
        spec = self.room.spec(
            name=generation_name("a", self.generation), harness="claude", kind=Kind.ORCHESTRATOR, project="shop",
            seat="a", generation=self.generation,
        )  # fmt: skip
        self.agents[spec.name] = self.room.running(self.room.agent(spec), turn_open=False)
        self.handover = Handover(
            ProjectFiles(), self.agents.get, lambda name: self.seat, lambda: NOW, lambda: "heron",
            self.room.papers.heard_out, lambda name, text: text.replace("hunter2", "[redacted]"),
            Addenda(
                ProjectFiles(), ListingFiles(self.room.directories, plain_files), self.room.papers.heard,
                lambda seat, workspace: tuple(self.agents.values()), lambda: NOW,
                lambda name, text: text.replace("hunter2", "[redacted]"),
            ),
            ended=lambda project, workspace: self.ended,
            made=partial(made_by, self.room.directories),
        )  # fmt: skip

    @property
    def seat(self) -> Seat:
        handoff = Handoff("h1", "a", "shop", self.generation, "operator", "", NOW, self.step, NOW, NOW)
        return Seat("a", "shop", self.generation, handoff=self.next or replace(handoff, **self.changes))

    @property
    def old(self) -> Agent:
        return self.agents[generation_name("a", self.generation)]

    def path(self, name: str) -> Path:
        return self.room.home / f"{name}.jsonl"

    def append(self, *lines: bytes, name: str = "") -> None:
        with self.path(name or self.old.name).open("ab") as file:
            file.write(b"".join(lines))

    def begun(self, name: str, **changes: Any) -> None:
        """Another agent that works there."""
        spec = self.room.spec(name=name, harness="claude", kind=Kind.ORCHESTRATOR, project="shop", **changes)
        self.agents[name] = self.room.running(self.room.agent(spec))

    def wrote(self, path: str, name: str = "") -> None:
        """The file is there, and the transcript of an agent tells that its tool wrote it."""
        target = self.room.work / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"by {name or self.old.name}")
        self.append(*written(str(target)), name=name)

    async def addendum(self) -> tuple[AddendumWritten, dict[str, Any]]:
        """What is told, and what stands beside both packages."""
        self.changes |= {"addendum": "asked"}
        told = await self.handover.addendum(WriteAddendum("a", "h1"))
        files = sorted((self.room.work / ".claude/orchestrators").glob("*/handoff-addendum.json"))
        found = [json.loads(path.read_text()) for path in files]
        assert len(found) in (0, 2)
        assert all(one == found[0] for one in found)
        return told, found[0] if found else {}

    async def updated(self) -> str:
        """What claude.md says once the project is brought up to date."""
        told = await self.handover.update(UpdatePapers("a", "h1"))
        assert told == PapersUpdated("a", "h1", tokens=told.tokens)
        return (self.room.work / ".claude/projects/shop/phase-01-work/claude.md").read_text()

    async def package(self) -> dict[str, Any]:
        told = await self.handover.write(WritePackage("a", "h1"))
        assert isinstance(told, PackageWritten), told
        self.changes |= {"package": told.package, "previous_session": told.previous, "session": told.session}
        found: dict[str, Any] = json.loads(
            (self.room.work / f".claude/orchestrators/{told.session}/handoff-package.json").read_text()
        )
        return found


def written(path: str) -> tuple[bytes, bytes]:
    """A call of the CLI's own file tool, and its outcome, long after the snapshot by the transcript's own clock."""
    call = f"w-{path}"
    result = {"content": [{"tool_use_id": call, "type": "tool_result", "content": "ok"}], "role": "user"}
    made = {"type": "create", "filePath": path}
    later = "2026-11-21T23:59:59.000Z"
    return (
        tool_use(call, "Write", file_path=path, content="x"),
        claude("user", message=result, toolUseResult=made, timestamp=later),
    )


def commanded(scene: Scene, *answers: str, writer: str = "command") -> list[str]:
    """The seat's program or model answers so, one after the other; what it was given is returned."""
    rules = HandoffRules(writer=writer, command=("writer",), model="test:x")
    scene.agents["a"] = replace(scene.old, spec=replace(scene.old.spec, handoff=rules))
    given: list[str] = []
    left = list(answers)

    async def write(agent: Agent, asked: str) -> WriterAnswer:
        assert agent.name == "a"
        given.append(asked)
        if not left:
            raise WriterFailed("it ended with exit 1", tokens=30)
        return WriterAnswer(left.pop(0), 400 if writer == "model" else 0)

    scene.handover = replace(scene.handover, writers={"command": write, "model": write})
    return given


CONTEXT = ".claude/projects/shop/phase-01-work/claude.md"
