"""The papers of a handoff, as they are made from a session's transcript and a project's files."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from phoenixd.core.actions import UpdatePapers
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Disproved
from phoenixd.core.agent.state import Stopped
from phoenixd.core.events.handoffs import PapersFailed, PapersUpdated
from phoenixd.core.handoff.state import Step
from phoenixd.core.rules import HandoffRules
from phoenixd.documents.project import package
from phoenixd.documents.project.tree import Tree
from phoenixd.drivers.files import plain as plain_files
from phoenixd.drivers.files.session_files import ProjectFiles
from phoenixd.memory.brief import heard_out
from phoenixd.memory.sharing import DIRECTORY, SharedMemory
from phoenixd.ports.papers import WriterAnswer
from tests.memory.handing_over import CONTEXT, LAST, Scene, commanded
from tests.start.places import NOW, HandClock, Room, entry
from tests.transcripts.samples import answer, prompt


async def test_f_ho_13_a_project_that_is_gone_fails_with_what_begins_it_anew(room: Room) -> None:
    scene = Scene(room)
    shutil.rmtree(room.work / ".claude/projects")
    scene.changes = {"previous_session": "orchestrator-1"}

    failed = await scene.handover.update(UpdatePapers("a", "h1"))

    assert isinstance(failed, PapersFailed)
    assert (failed.final, "is gone from" in failed.why) == (True, True)
    assert failed.remedy == f"phoenixctl phase init --standard --project shop --workspace {room.work}"
    scene.changes = {}
    assert isinstance(await scene.handover.update(UpdatePapers("a", "h1")), PapersUpdated), "its first one begins it"


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


@pytest.mark.parametrize("takes", [True, False])
async def test_e81_a_package_lists_what_other_projects_shared_where_that_is_chosen(scene: Scene, takes: bool) -> None:
    files, clean = ProjectFiles(), scene.handover.clean
    store = SharedMemory(scene.room.directories.state / DIRECTORY, plain_files, files, clean, lambda: NOW)
    bank = scene.room.work.parent / "bank"
    path = ".claude/orchestrators/orchestrator-5/memory/patterns.md"
    (bank / path).parent.mkdir(parents=True)
    (bank / path).write_text("Mind the till, hunter2.")
    found, _ = store.share(str(bank), Tree("bank", memory=(path,)), path, None)
    rules = HandoffRules(shared_memory=takes)
    scene.agents["a"] = replace(scene.old, spec=replace(scene.old.spec, handoff=rules))
    scene.handover = replace(scene.handover, shared=store)

    place = f".claude/orchestrators/shared-memory/{found.name}"
    made = await scene.package()
    assert made.get("memoryFiles", []) == ([place] if takes else [])
    assert (scene.room.work / place).exists() == takes
    if takes:
        assert "[redacted]" in (scene.room.work / place).read_text()
        tree = files.read_project(str(scene.room.work), "shop")
        told = package.read(json.dumps(made).encode(), "package")
        assert package.check(told) == package.outdated(told, tree) == package.lost_artifacts(told, tree) == ()


async def test_a_claim_that_the_facts_contradict_travels_in_the_package_and_in_the_first_prompt(scene: Scene) -> None:
    lies = Disproved("task t4", ("src/till.py changed by hunter2: it is as it was", "12 passed: 3 failed"), NOW)
    scene.agents["a"] = replace(scene.old, disproved=(lies,))

    found = await scene.package()

    claims = ["src/till.py changed by [redacted]: it is as it was", "12 passed: 3 failed"]
    assert found["contradicted"] == [{"of": "task t4", "claims": claims}]
    opening = (scene.room.work / f".claude/orchestrators/{scene.changes['session']}/init-prompt.md").read_text()
    assert "- task t4: 12 passed: 3 failed" in opening
    assert "hunter2" not in opening


async def test_without_such_claims_neither_speaks_of_any(scene: Scene) -> None:
    assert (await scene.package())["contradicted"] == []
    opening = (scene.room.work / f".claude/orchestrators/{scene.changes['session']}/init-prompt.md").read_text()
    assert "contradict" not in opening


async def test_promise_3_a_handoff_that_is_given_up_while_the_program_thinks_writes_nothing_more(scene: Scene) -> None:
    commanded(scene)
    context = scene.room.work / CONTEXT
    before = context.read_text()

    async def write(agent: Agent, asked: str) -> WriterAnswer:
        scene.step = Step.ROLLBACK
        return WriterAnswer(json.dumps({"files": {CONTEXT: "# Theirs\n"}}))

    scene.handover = replace(scene.handover, writers={"command": write, "model": write})
    told = await scene.handover.update(UpdatePapers("a", "h1"))

    assert isinstance(told, PapersFailed)
    assert context.read_text() == before


async def test_keep_a_directory_in_the_place_of_a_paper_stays_and_stops_nothing(scene: Scene) -> None:
    sessions = scene.room.work / ".claude/orchestrators"
    (sessions / "orchestrator-1" / "handoff-package.json").mkdir(parents=True)
    (sessions / "orchestrator-2").mkdir()
    (sessions / "orchestrator-2" / "session.json").write_text("{}")
    gone = ("orchestrator-1/handoff-package.json", "orchestrator-2/session.json")
    ProjectFiles().remove_files(str(scene.room.work), [f".claude/orchestrators/{one}" for one in gone])
    assert [one.name for one in sessions.iterdir()] == ["orchestrator-1"]
