"""What workers did of a plan, and what they left, in a project's papers at a handoff."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from structlog.testing import capture_logs

from phoenixd.core.actions import UpdatePapers
from phoenixd.core.events.handoffs import PapersFailed, PapersUpdated
from phoenixd.core.tasks.state import JudgedReport, Outcome, Task, Tasks
from phoenixd.documents.project.outcomes import Ended, of_workers
from phoenixd.documents.project.update import TaskOutcome
from phoenixd.documents.task_report import Left, Output, manifest
from phoenixd.drivers.files import project as projects
from tests.memory.handing_over import PLAN, Scene
from tests.start.places import NOW


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
