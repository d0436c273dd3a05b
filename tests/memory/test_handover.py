"""The papers of a handoff, as they are made from a session's transcript and a project's files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from phoenixd.core.actions import RecordSessions, UpdatePapers, WritePackage
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Stopped
from phoenixd.core.events.handoffs import PackageWritten, PapersUpdated
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.seat.names import generation_name
from phoenixd.core.seat.state import Seat
from phoenixd.core.spec import HandoffRules, Kind
from phoenixd.drivers.files.session_files import ProjectFiles
from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from phoenixd.memory.brief import heard_out
from phoenixd.memory.handover import Handover
from tests.start.places import NOW, HandClock, Room, entry
from tests.transcripts.samples import answer, prompt

LAST = "The till is half done, and VAT is the odd one."
PLAN = b"# Phase 1\n\n## Tasks\n\n### Task 1: Lay the ground\n- **Status**: completed\n\n### Task 2: Build the till\n"


@dataclass
class Scene:
    """The seat `a` in mid-handoff, a project of one phase, and the transcript of the holder."""

    room: Room
    generation: int = 1
    agents: dict[str, Agent] = field(default_factory=dict)
    step: Step = Step.UPDATE
    changes: dict[str, Any] = field(default_factory=dict)

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
            self.room.papers.heard_out, lambda name, text: text,
        )  # fmt: skip

    @property
    def seat(self) -> Seat:
        handoff = Handoff("h1", "a", "shop", self.generation, "operator", "", NOW, self.step, NOW, NOW)
        return Seat("a", "shop", self.generation, handoff=replace(handoff, **self.changes))

    @property
    def old(self) -> Agent:
        return self.agents[generation_name("a", self.generation)]

    def path(self, name: str) -> Path:
        return self.room.home / f"{name}.jsonl"

    def append(self, *lines: bytes) -> None:
        with self.path(self.old.name).open("ab") as file:
            file.write(b"".join(lines))

    async def updated(self) -> str:
        """What claude.md says once the project is brought up to date."""
        told = await self.handover.update(UpdatePapers("a", "h1"))
        assert told == PapersUpdated("a", "h1")
        return (self.room.work / ".claude/projects/shop/phase-01-work/claude.md").read_text()

    async def package(self) -> dict[str, Any]:
        told = await self.handover.write(WritePackage("a", "h1"))
        assert isinstance(told, PackageWritten), told
        found: dict[str, Any] = json.loads(
            (self.room.work / f".claude/orchestrators/{told.session}/handoff-package.json").read_text()
        )
        return found


@pytest.fixture
def scene(room: Room) -> Scene:
    return Scene(room)


@pytest.mark.parametrize("generation", [1, 2])
async def test_e42_the_predecessors_very_last_answer_is_in_context_and_package(room: Room, generation: int) -> None:
    """Of whichever generation it is; and nothing but the handoff has its transcript read."""
    scene = Scene(room, generation)
    scene.append(prompt("Build the till."), answer("I begin."))
    await room.papers.publish(scene.old, [])
    await room.papers.briefing.hear_on(scene.old)
    scene.append(prompt("Finish."), answer(LAST))

    assert LAST in await scene.updated()
    assert LAST in (await scene.package())["projectState"]["contextSummary"]


async def test_e42_an_answer_that_the_cli_writes_down_a_moment_after_its_hook_is_waited_for(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.append(prompt("Build the till."))
    await scene.room.papers.publish(scene.old, [])
    sleep = HandClock.sleep_until

    async def write_down(clock: HandClock, at: float) -> None:
        await sleep(clock, at)
        if len(clock.slept) == 2:
            scene.append(answer(LAST))

    monkeypatch.setattr(HandClock, "sleep_until", write_down)

    assert LAST in await scene.updated()
    assert len(scene.room.clock.slept) == 2


async def test_e42_where_the_transcript_stays_behind_the_hooks_words_stand_in(scene: Scene) -> None:
    scene.append(prompt("Build the till."), answer("I begin."))
    later = 1e6
    scene.room.clock.wall += later
    stopped = replace(entry("hook_seen", kind="stop", text=LAST), wall=NOW + later)
    await scene.room.papers.publish(scene.old, [stopped])
    began = scene.room.clock.wall

    assert LAST in await scene.updated()
    assert heard_out.PATIENCE <= scene.room.clock.wall - began < 2 * heard_out.PATIENCE, "it is waited for, and bounded"


async def test_of_a_predecessor_that_is_down_nothing_more_is_waited_for(scene: Scene) -> None:
    scene.append(prompt("Build the till."))
    await scene.room.papers.publish(scene.old, [])
    scene.agents["a"] = replace(scene.old, state=Stopped())

    assert "Last words" not in await scene.updated()
    assert scene.room.clock.slept == []


async def test_keep_packages_and_records_of_the_newest_handoffs_stay_and_nothing_else_goes(scene: Scene) -> None:
    scene.agents["a"] = replace(scene.old, spec=replace(scene.old.spec, handoff=HandoffRules(keep=2)))
    sessions = scene.room.work / ".claude/orchestrators"
    for number, project in enumerate(["shop", "shop", "bank", "shop"]):
        place = sessions / f"orchestrator-00{number}"
        place.mkdir(parents=True)
        record = {"sessionId": place.name, "projectName": project, "status": "shutdown"}
        (place / "session.json").write_text(json.dumps(record))
        (place / "handoff-package.json").write_text("{}")
    memory = sessions / "orchestrator-001/memory"
    memory.mkdir()
    (memory / "patterns.md").write_text("Mind the till.")
    told = await scene.handover.write(WritePackage("a", "h1"))
    assert isinstance(told, PackageWritten)
    scene.step, scene.changes = Step.DONE, {"previous_session": told.previous, "session": told.session}

    await scene.handover.record(RecordSessions("a", "h1"))

    left = sorted(str(path.relative_to(sessions)) for path in sessions.rglob("*") if path.is_file())
    ours = sorted(
        f"{one}/{name}"
        for one, names in ((told.previous, ["handoff-package.json", "session.json"]),
                           (told.session, ["handoff-package.json", "init-prompt.md", "session.json"]))
        for name in names
    )  # fmt: skip
    assert left == sorted([
        "orchestrator-001/memory/patterns.md", "orchestrator-001/session.json",
        "orchestrator-002/handoff-package.json", "orchestrator-002/session.json",
        "orchestrator-003/handoff-package.json", "orchestrator-003/session.json", *ours,
    ])  # fmt: skip
