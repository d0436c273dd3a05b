"""The papers of a handoff, as they are made from a session's transcript and a project's files."""

from __future__ import annotations

import errno
import json
import os
import shutil
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from phoenixd.core.actions import RecordSessions, UpdatePapers, WriteAddendum, WritePackage
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Disproved
from phoenixd.core.agent.state import Stopped
from phoenixd.core.events.handoffs import AddendumWritten, PackageWritten, PapersFailed, PapersUpdated
from phoenixd.core.handoff.state import Handoff, Late, Step
from phoenixd.core.rules import HandoffRules
from phoenixd.core.seat.names import generation_name
from phoenixd.core.seat.state import Seat
from phoenixd.core.spec import Kind
from phoenixd.core.tasks.state import JudgedReport, Outcome, Task, Tasks
from phoenixd.documents.project import package
from phoenixd.documents.project.outcomes import Ended, of_workers
from phoenixd.documents.project.tree import Tree
from phoenixd.documents.project.update import TaskOutcome
from phoenixd.documents.task_report import Left, Output, manifest
from phoenixd.drivers.files import plain as plain_files
from phoenixd.drivers.files import project as projects
from phoenixd.drivers.files.session_files import ProjectFiles
from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from phoenixd.errors import WriterFailed
from phoenixd.jobs.kept import made_by
from phoenixd.memory.addenda import Addenda
from phoenixd.memory.brief import heard_out
from phoenixd.memory.handover import Handover
from phoenixd.memory.listings import ListingFiles
from phoenixd.memory.sharing import DIRECTORY, SharedMemory
from phoenixd.ports.papers import WriterAnswer
from tests.start.places import NOW, HandClock, Room, entry
from tests.transcripts.samples import answer, claude, prompt, tool_use

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


@pytest.fixture
def scene(room: Room) -> Scene:
    return Scene(room)


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


async def test_the_record_of_a_successor_that_a_rollback_left_running_is_closed_and_goes_in_its_turn(
    scene: Scene,
) -> None:
    scene.agents["a"] = replace(scene.old, spec=replace(scene.old.spec, handoff=HandoffRules(keep=1)))
    scene.changes = {"began_wall": NOW + 30}
    first = await scene.handover.write(WritePackage("a", "h1"))
    assert isinstance(first, PackageWritten)
    # An order to stop rolled it back before the package was known: nothing ever came to its record.
    sessions = scene.room.work / ".claude/orchestrators"
    record = sessions / first.session / "session.json"
    assert json.loads(record.read_text())["status"] == "running"
    scene.changes = {"id": "h2", "began_wall": NOW + 60, "previous_session": first.previous}
    second = await scene.handover.write(WritePackage("a", "h2"))
    assert isinstance(second, PackageWritten)
    scene.step, scene.changes = Step.DONE, {**scene.changes, "session": second.session}

    (sessions / first.session / "memory").mkdir()
    (sessions / first.session / "memory" / "patterns.md").write_text("Mind the till.")
    await scene.handover.record(RecordSessions("a", "h2"))
    assert json.loads(record.read_text())["status"] == "shutdown"
    assert (sessions / first.session / "handoff-package.json").exists(), "one handoff's papers are kept beside"

    scene.changes |= {"id": "h3", "began_wall": NOW + 120, "session": "", "previous_session": second.session}
    scene.step = Step.SNAPSHOT
    third = await scene.handover.write(WritePackage("a", "h3"))
    assert isinstance(third, PackageWritten)
    scene.step, scene.changes = Step.DONE, {**scene.changes, "session": third.session}
    await scene.handover.record(RecordSessions("a", "h3"))
    assert not (sessions / first.session / "handoff-package.json").exists()


@pytest.mark.parametrize("step", [Step.DONE, Step.ROLLED_BACK])
async def test_e50_records_that_say_already_what_became_of_the_handoff_are_left_alone(scene: Scene, step: Step) -> None:
    """Each daemon that begins orders them again, for the one before may have died before it wrote them."""
    told = await scene.handover.write(WritePackage("a", "h1"))
    assert isinstance(told, PackageWritten)
    scene.step, scene.changes = step, {"previous_session": told.previous, "session": told.session}
    await scene.handover.record(RecordSessions("a", "h1"))
    paths = [scene.room.work / f".claude/orchestrators/{one}/session.json" for one in (told.previous, told.session)]
    said = [json.loads(path.read_text())["status"] for path in paths]
    assert said == (["shutdown", "running"] if step is Step.DONE else ["running", "shutdown"])
    before = [(path.stat().st_ino, path.read_text()) for path in paths]

    scene.room.clock.wall += 3600
    await scene.handover.record(RecordSessions("a", "h1"))
    assert [(path.stat().st_ino, path.read_text()) for path in paths] == before


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


async def test_f_ho_11_e49_late_changes_are_told_with_who_made_them_by_the_transcripts_else_unknown(
    scene: Scene,
) -> None:
    work = scene.room.work
    (work / "till.py").write_text("before")
    (work / "gone.py").write_text("before")
    (work / "same.py").write_text("before")
    await scene.package()
    scene.begun("a-g2", seat="a", generation=2)
    scene.begun("hand")
    (work / "gone.py").unlink()
    (work / "build.log").write_text("by a job in the background")
    scene.wrote("till.py")
    scene.wrote("own.py", "a-g2")
    scene.wrote("docs/page.md", "hand")
    scene.wrote("both.py", "a-g2")
    scene.append(*written(str(work / "both.py")))

    told, found = await scene.addendum()

    assert (told.files, told.said, told.why) == (5, 0, "")
    assert told.path == f".claude/orchestrators/{scene.changes['session']}/handoff-addendum.json"
    assert [(one["path"], one["change"], one["by"]) for one in found["changes"]] == [
        ("both.py", "created", ["a", "a-g2"]),
        ("build.log", "created", ["unknown"]),
        ("docs/page.md", "created", ["hand"]),
        ("gone.py", "deleted", ["unknown"]),
        ("till.py", "changed", ["a"]),
    ]
    assert found["package"] == scene.changes["package"]


async def test_what_was_submitted_to_the_predecessor_stands_in_the_addendum_without_secrets(scene: Scene) -> None:
    await scene.package()
    scene.changes["late"] = (Late("Use hunter2 for the till.", NOW + 5),)

    told, found = await scene.addendum()

    assert (told.files, told.said) == (0, 1)
    assert [one["text"] for one in found["submitted"]] == ["Use [redacted] for the till."]


async def test_where_nothing_came_too_late_there_is_no_addendum(scene: Scene) -> None:
    await scene.package()
    told, found = await scene.addendum()
    assert (told, found) == (AddendumWritten("a", "h1"), {})


async def test_a_package_that_is_written_again_leaves_the_first_look_at_the_workspace(scene: Scene) -> None:
    await scene.package()
    (scene.room.work / "late.py").write_text("late")
    await scene.package()

    _, found = await scene.addendum()

    assert [one["path"] for one in found["changes"]] == ["late.py"]


async def test_without_the_look_at_the_snapshot_the_addendum_says_so(scene: Scene) -> None:
    await scene.package()
    (scene.room.directories.agent_state("a") / "handoff-files.json").write_bytes(b"torn")
    told, found = await scene.addendum()
    assert (told.files, found["notCompared"]) == (0, "nothing is known of the workspace at the snapshot")


async def test_links_and_what_programs_make_are_not_compared(scene: Scene) -> None:
    await scene.package()
    (scene.room.work / "link").symlink_to("/etc/passwd")
    (scene.room.work / "node_modules/x").mkdir(parents=True)
    (scene.room.work / "node_modules/x/index.js").write_text("x")
    told, _ = await scene.addendum()
    assert told.path == ""


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


def worker(number: int, plan: str, state: str, at: float, **more: Any) -> Task:
    return Task(f"t{number}", f"a-t{number}", project="shop", plan=plan, phase="phase-01-work", state=state,
                since_wall=at, told="told", **more)  # type: ignore[arg-type]  # fmt: skip


def test_what_workers_did_of_a_plan_is_the_newest_end_of_each_task_and_no_lie_completes_one() -> None:
    lie = Outcome(judged=JudgedReport("report.json", contradicted=1))
    ended = (
        worker(1, "1", "failed", 1.0, why="no tries left"), worker(2, "1", "done", 5.0), worker(3, "2", "done", 3.0),
        worker(4, "3", "done", 4.0, outcome=lie), worker(5, "4", "failed", 2.0, why="no tries left"),
        worker(6, "5", "canceled", 6.0), worker(7, "6", "done", 7.0, outcome=Outcome()),
        replace(worker(8, "9", "done", 8.0), project="bank"), replace(worker(9, "9", "done", 8.0), phase=""),
    )  # fmt: skip
    tasks = Tasks(open=(worker(10, "2", "running", 9.0),), ended=ended)

    told = [(one.outcome.task, one.outcome.status, one.outcome.reason) for one in of_workers(tasks, "shop", "/srv")]

    assert told == [
        ("4", "blocked", "t5: no tries left"), ("3", "blocked", "the report of t4 claims what did not happen"),
        ("1", "completed", ""), ("6", "completed", ""),
    ]  # fmt: skip


async def test_e67_what_workers_did_stands_in_the_plan_and_a_person_who_reset_it_since_is_not_overruled(
    scene: Scene,
) -> None:
    scene.ended = (Ended(NOW - 60, TaskOutcome("phase-01-work", "2", "completed")),)
    plan = scene.room.work / ".claude/projects/shop/phase-01-work/plan.md"
    await scene.updated()
    assert plan.read_text().count("**Status**: completed") == 2

    plan.write_text(plan.read_text().replace("Build the till\n- **Status**: completed", "Build the till"))
    await scene.updated()
    assert plan.read_text().count("**Status**: completed") == 1


async def test_e9_e55_what_a_worker_left_stands_in_the_artifacts_of_its_task_and_in_the_package(scene: Scene) -> None:
    outputs = scene.room.directories.task("t7") / "outputs/src"
    outputs.mkdir(parents=True)
    (outputs / "till.py").write_bytes(b"x = 1\n")
    digest = sha256(b"x = 1\n").hexdigest()
    left = Left(outputs=(Output("src/till.py", 6, digest),))
    (outputs.parents[1] / "manifest.json").write_bytes(manifest(worker(7, "2", "done", NOW - 60), left, ""))
    scene.ended = (Ended(NOW - 60, TaskOutcome("phase-01-work", "2", "completed"), "t7"),)
    artifacts = scene.room.work / ".claude/projects/shop/phase-01-work/artifacts"
    for _ in range(2):
        await scene.updated()

    assert (artifacts / "task-2/t7-19700101T000000Z/src/till.py").read_bytes() == b"x = 1\n"
    told = json.loads((artifacts / "manifest.json").read_text())
    path = ".claude/projects/shop/phase-01-work/artifacts/task-2/t7-19700101T000000Z/src/till.py"
    assert told["files"] == [{"path": path, "size": 6, "sha256": digest, "task": "2"}]
    assert told["published"] == ["t7-19700101T000000Z"]
    assert (await scene.package())["artifacts"] == [path]
    (artifacts / "task-2/t7-19700101T000000Z/src/till.py").unlink()
    await scene.updated()
    assert not (artifacts / "task-2/t7-19700101T000000Z/src/till.py").exists(), "what a person removed stays so"


async def test_e9_where_the_outputs_cannot_be_copied_the_update_fails_with_the_reason_and_the_next_one_does_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = scene.room.directories.task("t7") / "outputs"
    outputs.mkdir(parents=True)
    (outputs / "a.txt").write_bytes(b"a")
    left = Left(outputs=(Output("a.txt", 1, sha256(b"a").hexdigest()),))
    (outputs.parent / "manifest.json").write_bytes(manifest(worker(7, "2", "done", NOW - 60), left, ""))
    scene.ended = (Ended(NOW - 60, TaskOutcome("phase-01-work", "2", "completed"), "t7"),)
    with monkeypatch.context() as patched:
        patched.setattr(projects, "copy_new", full_disk)
        told = await scene.handover.update(UpdatePapers("a", "h1"))
    assert isinstance(told, PapersFailed)
    assert told.why == "artifact publisher: No space left on device"
    await scene.updated()

    assert (
        scene.room.work / ".claude/projects/shop/phase-01-work/artifacts/task-2/t7-19700101T000000Z/a.txt"
    ).read_bytes() == b"a"


async def test_e9_an_output_that_cannot_be_copied_is_named_and_the_update_goes_on(scene: Scene) -> None:
    outputs = scene.room.directories.task("t7") / "outputs"
    outputs.mkdir(parents=True)
    (outputs / "a.txt").symlink_to("/etc/passwd")
    left = Left(outputs=(Output("a.txt", 1, sha256(b"a").hexdigest()),))
    (outputs.parent / "manifest.json").write_bytes(manifest(worker(7, "2", "done", NOW - 60), left, ""))
    scene.ended = (Ended(NOW - 60, TaskOutcome("phase-01-work", "2", "completed"), "t7"),)
    with capture_logs() as logs:
        await scene.updated()

    (told,) = [one for one in logs if one["event"] == "outputs_left_out"]
    assert (told["count"], told["log_level"]) == (1, "warning")
    assert told["agent"]
    assert "/artifacts/task-2/t7-19700101T000000Z/a.txt: " in told["first"][0]


def full_disk(*_: object) -> bool:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_project_of_the_same_name_in_another_workspace_has_other_tasks() -> None:
    here, there = (replace(worker(n, str(n), "done", 1.0), workspace=w) for n, w in ((1, "/srv/a"), (2, "/srv/b")))
    tasks = Tasks(ended=(here, there))
    assert [one.outcome.task for one in of_workers(tasks, "shop", "/srv/a/")] == ["1"]


async def test_e67_a_task_that_failed_and_that_a_person_set_free_is_blocked_once(scene: Scene) -> None:
    """The state says the same of a blocked task as of an open one, and its time has to go on all the same."""
    plan = scene.room.work / ".claude/projects/shop/phase-01-work/plan.md"
    plan.write_bytes(PLAN + b"\n### Task 3: Paint it\n")
    await scene.updated()
    scene.ended = (Ended(NOW + 10, TaskOutcome("phase-01-work", "2", "blocked", "t1: no tries left")),)
    scene.handover = replace(scene.handover, wall=lambda: NOW + 100)
    await scene.updated()
    assert plan.read_text().count("**Status**: blocked") == 1

    plan.write_text(plan.read_text().replace("**Status**: blocked", "**Status**: pending", 1))
    scene.handover = replace(scene.handover, wall=lambda: NOW + 200)
    await scene.updated()
    assert "**Status**: blocked" not in plan.read_text()


async def test_e67_what_a_worker_did_while_its_plan_was_split_is_told_in_the_part(scene: Scene) -> None:
    """Else it stays open there, and is done twice."""
    whole = scene.room.work / ".claude/projects/shop/phase-01-work"
    (whole / "plan.md").write_text("# Phase 1\n\nSplit.\n")
    for number, title in ((1, "Task 1: Lay the ground"), (2, "Task 2: Build the till")):
        part = whole.with_name(f"phase-01-work-part{number}")
        part.mkdir()
        (part / "plan.md").write_text(f"# Phase 1\n\n## Tasks\n\n### {title}\n")
        (part / "claude.md").write_text("# Part\n")
    scene.ended = (Ended(NOW, TaskOutcome("phase-01-work", "2", "completed")),)

    told = await scene.handover.update(UpdatePapers("a", "h1"))

    assert told == PapersUpdated("a", "h1")
    assert "**Status**: completed" in (whole.with_name("phase-01-work-part2") / "plan.md").read_text()


async def test_e67_a_state_from_the_future_hides_no_end_of_a_task(scene: Scene) -> None:
    await scene.updated()
    state = scene.room.work / ".claude/projects/shop/orchestrator-state.json"
    state.write_text(state.read_text().replace("2026-11-21T", "2199-01-01T"))
    scene.ended = (Ended(NOW - 60, TaskOutcome("phase-01-work", "2", "completed")),)
    await scene.updated()
    plan = scene.room.work / ".claude/projects/shop/phase-01-work/plan.md"
    assert plan.read_text().count("**Status**: completed") == 2


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


async def test_f_ho_11_half_a_character_in_a_prompt_is_no_reason_to_tell_nothing(scene: Scene) -> None:
    await scene.package()
    scene.changes |= {"late": (Late("Mind the \ud800 till.", NOW),)}
    told, found = await scene.addendum()
    assert (told.why, told.said) == ("", 1)
    assert found["submitted"][0]["text"] == "Mind the  till."


async def test_keep_a_directory_in_the_place_of_a_paper_stays_and_stops_nothing(scene: Scene) -> None:
    sessions = scene.room.work / ".claude/orchestrators"
    (sessions / "orchestrator-1" / "handoff-package.json").mkdir(parents=True)
    (sessions / "orchestrator-2").mkdir()
    (sessions / "orchestrator-2" / "session.json").write_text("{}")
    gone = ("orchestrator-1/handoff-package.json", "orchestrator-2/session.json")
    ProjectFiles().remove_files(str(scene.room.work), [f".claude/orchestrators/{one}" for one in gone])
    assert [one.name for one in sessions.iterdir()] == ["orchestrator-1"]


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


async def test_writer_command_words_the_papers_and_the_jobs_follow_it(scene: Scene) -> None:
    scene.append(prompt("Build the till."), answer(LAST))
    await scene.room.papers.publish(scene.old, [])
    given = commanded(scene, json.dumps({"files": {CONTEXT: "# Work\n\nVAT is odd.\n"}}))

    context = await scene.updated()

    assert context.startswith("# Work\n\nVAT is odd.\n")
    assert LAST in context, "the technical writer's part follows"
    assert any(LAST in line for line in json.loads(given[0])["session"])


async def test_a_refused_answer_is_asked_for_once_more_with_the_reason_and_then_it_is_done_without(
    scene: Scene,
) -> None:
    given = commanded(scene, "I have done it.")

    told = await scene.handover.update(UpdatePapers("a", "h1"))

    assert isinstance(told, PapersUpdated)
    assert told.note == "handoff.command was not heeded in 2 tries: it ended with exit 1"
    refused = [json.loads(one)["refused"] for one in given]
    assert refused == [None, 'the answer was refused: it is no JSON object with "files"']
    assert "Current State" in (scene.room.work / CONTEXT).read_text()


async def test_a_file_that_a_person_changed_while_the_program_thought_stays(scene: Scene) -> None:
    commanded(scene)

    async def write(agent: Agent, asked: str) -> WriterAnswer:
        (scene.room.work / CONTEXT).write_text("# Mine\n")
        return WriterAnswer(json.dumps({"files": {CONTEXT: "# Theirs\n"}}))

    scene.handover = replace(scene.handover, writers={"command": write, "model": write})

    assert (await scene.updated()).startswith("# Mine\n")
