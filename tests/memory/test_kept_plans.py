"""What a worker did of a plan stands in the project's files as soon as its task has ended."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from structlog.testing import capture_logs

from phoenixd.core.fleet import Fleet
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.seat.state import Seat
from phoenixd.core.tasks.state import Task, Tasks, TaskState
from phoenixd.documents.project.outcomes import Ended
from phoenixd.documents.project.publishing import Made
from phoenixd.documents.project.schemas import schemas
from phoenixd.documents.project.tree import Changes, Copy, Tree
from phoenixd.drivers.files.session_files import ProjectFiles
from phoenixd.memory.kept_plans import KeptPlans
from phoenixd.memory.workspace_locks import WorkspaceLocks

NOW = 1.8e9
PHASE = "phase-01-work"
PLAN = """# Phase 1: Work

## Tasks

### Task 1: Lay the ground
- **Status**: in_progress

### Task 2: Build the till
- **Status**: in_progress

### Task 3: Open
- **Status**: pending
"""


class Counted(ProjectFiles):
    """How often a project was changed."""

    def __init__(self) -> None:
        self.edits = 0

    def edit_project(self, workspace: str, project: str, change: Any) -> Tree:
        def counted(tree: Tree) -> Changes:
            found: Changes = change(tree)
            self.edits += bool(found)
            return found

        return super().edit_project(workspace, project, counted)


@dataclass
class Scene:
    """The project `shop` and its workers."""

    work: Path
    files: Counted = field(default_factory=Counted)
    fleet: Fleet = field(default_factory=lambda: Fleet(seats={"boss": Seat("boss", "shop")}))
    wall: float = NOW
    spoilt: bool = False
    """Another hand changes what a worker left."""

    def __post_init__(self) -> None:
        phase = self.project / PHASE
        (phase / "artifacts").mkdir(parents=True)
        (phase / "plan.md").write_text(PLAN)
        (phase / "claude.md").write_text("# phase-01-work\n")
        (self.project / "orchestrator-state.json").write_text('{"projectName": "shop", "currentStep": 4}')
        self.begun()

    @property
    def project(self) -> Path:
        return self.work / ".claude/projects/shop"

    def begun(self) -> None:
        """A new daemon's."""
        self.plans = KeptPlans(
            self.files, lambda: self.fleet, WorkspaceLocks(), self.made,
            lambda name, text: text.replace("hunter2", "[redacted]"), lambda: self.wall,
        )  # fmt: skip

    def made(self, ended: Any) -> tuple[Made, ...]:
        done: list[Ended] = [one for one in ended if one.outcome.status == "completed"]
        return tuple(self.left(one) for one in done)

    def left(self, one: Ended) -> Made:
        place = self.work.parent / f"{one.id}.txt"
        place.write_text(f"by {one.id}")
        content = place.read_bytes()
        copy = Copy(os.fspath(place), len(content), sha256(content).hexdigest())
        if self.spoilt:
            place.write_text("by another hand")
        return Made(one.outcome.phase, one.outcome.task, f"{one.id}-x", "out.txt", copy)

    async def ends(self, plan: str, state: str = "done", **details: Any) -> None:
        """A worker's task has ended, a minute later than whatever was before."""
        self.wall += 60
        tasks, number = self.fleet.tasks, self.fleet.tasks.next
        task = Task(
            f"t{number}", f"boss-t{number}", project="shop", plan=plan, phase=PHASE, workspace=str(self.work),
            state=state, since_wall=self.wall - 1, **details,
        )  # fmt: skip
        self.fleet = replace(self.fleet, tasks=replace(tasks, next=number + 1, ended=(*tasks.ended, task)))
        self.plans.hear()
        await self.plans.look()

    async def has(self, plan: str, state: TaskState, runs: int = 1, **details: Any) -> None:
        """The newest task of that plan's task is now so, a minute later."""
        self.wall += 60
        tasks, name = self.fleet.tasks, f"t{self.fleet.tasks.next}"
        known = next((one for one in tasks.open if one.plan == plan), None)
        task = known or Task(
            name, f"boss-{name}", project="shop", plan=plan, phase=PHASE, workspace=str(self.work)
        )  # fmt: skip
        task = replace(task, state=state, runs=runs, since_wall=self.wall - 1, **details)
        tasks = tasks.taking(task) if known is not None else tasks.with_new(task)
        self.fleet = replace(self.fleet, tasks=tasks)
        self.plans.hear()
        await self.plans.look()

    def statuses(self) -> list[str]:
        lines = (self.project / PHASE / "plan.md").read_text().splitlines()
        return [line.removeprefix("- **Status**: ") for line in lines if line.startswith("- **Status**")]

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.project / "orchestrator-state.json").read_text())
        return found

    def hands_over(self, step: Step) -> None:
        handoff = Handoff("h1", "boss", "shop", 1, "operator", "", 0.0, step, 0.0, 0.0)
        self.fleet = replace(self.fleet, seats={"boss": Seat("boss", "shop", handoff=handoff)})


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "work")


async def test_e10_e67_each_end_of_a_task_changes_the_plan_and_the_state_which_is_valid_by_its_schema(
    scene: Scene,
) -> None:
    plans = [(scene.project / PHASE / "plan.md").read_bytes()]
    for number, title in (("1", "Task 1: Lay the ground"), ("2", "Task 2: Build the till")):
        await scene.ends(number)
        plans.append((scene.project / PHASE / "plan.md").read_bytes())
        told = scene.state()
        jsonschema.validate(told, schemas()["orchestrator-state"])
        assert told["completedTasks"][-1] == title
        assert told["currentStep"] == 4 + int(number)

    assert len(set(plans)) == 3
    assert scene.statuses() == ["completed", "completed", "pending"]
    assert scene.state()["pendingTasks"] == ["Task 3: Open"]


async def test_e10_a_task_that_begins_is_in_progress_in_the_plan_and_its_phase_in_the_state(scene: Scene) -> None:
    """orchestrator-state.json is updated on every change of a task: as it begins, is tried again, and ends."""
    await scene.has("3", "waiting", runs=0)
    assert (scene.statuses()[2], scene.files.edits) == ("pending", 0), "it has not begun"

    times = []
    for state, runs in (("running", 1), ("waiting", 1), ("running", 2)):
        await scene.has("3", state, runs)
        assert scene.statuses()[2] == "in_progress"
        told = scene.state()
        jsonschema.validate(told, schemas()["orchestrator-state"])
        assert (told["phases"][PHASE]["status"], told["currentPhase"]) == ("in_progress", PHASE)
        assert told["pendingTasks"][-1] == "Task 3: Open"
        assert told["currentStep"] == 4
        times.append(told["updatedAt"])
    assert times == sorted(set(times))

    await scene.has("3", "done", 2, told="nobody")
    assert scene.statuses()[2] == "completed"
    assert scene.state()["completedTasks"] == ["Task 3: Open"]


async def test_e10_a_task_that_was_canceled_while_a_worker_had_it_is_pending_again_with_a_note(scene: Scene) -> None:
    """What had no worker, and what the orchestrator set itself meanwhile, stays as it stands."""
    await scene.has("3", "running")
    await scene.has("3", "canceled", why="canceled by the operator, hunter2")

    assert scene.statuses()[2] == "pending"
    assert "- **Note**: t1: canceled by the operator, [redacted]" in (scene.project / PHASE / "plan.md").read_text()


@pytest.mark.parametrize(("stands", "then"), [("completed", "completed"), ("blocked", "in_progress")])
async def test_e10_a_begin_opens_what_was_blocked_and_nothing_that_is_completed(
    scene: Scene, stands: str, then: str
) -> None:
    plan = scene.project / PHASE / "plan.md"
    plan.write_text(PLAN.replace("**Status**: pending", f"**Status**: {stands}"))
    await scene.has("3", "running")

    assert scene.statuses()[2] == then


async def test_e10_what_a_person_sets_back_after_a_task_began_stays_so_until_it_ends(scene: Scene) -> None:
    await scene.has("3", "running")
    plan = scene.project / PHASE / "plan.md"
    plan.write_text(plan.read_text().replace("- **Status**: in_progress", "- **Status**: pending"))
    await scene.ends("1")
    scene.begun()
    scene.plans.hear()
    await scene.plans.look()

    assert scene.statuses() == ["completed", "pending", "pending"]


async def test_e10_a_daemon_that_was_killed_before_it_wrote_of_a_begin_leaves_that_to_the_next_one(
    scene: Scene,
) -> None:
    await scene.ends("1")
    hear, look = scene.plans.hear, scene.plans.look
    scene.plans.hear = lambda: None  # type: ignore[method-assign]
    scene.plans.look = _nothing  # type: ignore[method-assign]
    await scene.has("3", "running")
    assert scene.statuses()[2] == "pending"
    scene.plans.hear, scene.plans.look = hear, look  # type: ignore[method-assign]

    scene.begun()
    scene.plans.hear()
    await scene.plans.look()
    assert scene.statuses()[2] == "in_progress"


async def _nothing() -> None:
    """Instead of a look."""


async def test_e67_what_no_worker_ended_is_left_to_the_orchestrator(scene: Scene) -> None:
    await scene.ends("1")

    assert scene.statuses() == ["completed", "in_progress", "pending"], "no handoff interrupted the second one"


async def test_e55_e58_what_a_worker_left_stands_in_the_artifacts_of_its_task_with_an_entry(scene: Scene) -> None:
    await scene.ends("1")

    listed = json.loads((scene.project / PHASE / "artifacts/manifest.json").read_text())["files"]
    (entry,) = listed
    assert entry["task"] == "1"
    assert (scene.work / entry["path"]).read_text() == "by t1"
    assert entry["path"].endswith("artifacts/task-1/t1-x/out.txt")


async def test_e9_an_output_that_cannot_be_copied_is_named_and_the_plan_is_told_all_the_same(scene: Scene) -> None:
    scene.spoilt = True
    with capture_logs() as logs:
        await scene.ends("1")

    assert list((scene.project / PHASE / "artifacts").rglob("out.txt")) == []
    assert scene.statuses()[0] == "completed"
    assert [one["count"] for one in logs if one["event"] == "outputs_left_out"] == [1]


async def test_e59_a_task_that_failed_is_blocked_with_its_reason_and_without_secrets(scene: Scene) -> None:
    await scene.ends("1", "failed", why="the key hunter2 was refused")

    assert scene.statuses() == ["blocked", "in_progress", "pending"]
    assert "- **Note**: t1: the key [redacted] was refused" in (scene.project / PHASE / "plan.md").read_text()


async def test_e67_a_task_that_was_canceled_says_nothing_of_its_plan(scene: Scene) -> None:
    await scene.ends("1", "canceled")

    assert (scene.files.edits, scene.statuses()[0]) == (0, "in_progress")


async def test_e67_what_a_person_opened_again_since_stays_open_also_under_the_next_daemon(scene: Scene) -> None:
    await scene.ends("1")
    plan = scene.project / PHASE / "plan.md"
    plan.write_text(plan.read_text().replace("completed", "pending"))

    await scene.ends("2")
    scene.begun()
    scene.plans.hear()
    await scene.plans.look()

    assert scene.statuses() == ["pending", "completed", "pending"]


async def test_e10_what_is_told_already_is_neither_read_nor_written_again(scene: Scene) -> None:
    await scene.ends("1")
    edits = scene.files.edits
    for _ in range(3):
        scene.fleet = replace(scene.fleet, tasks=replace(scene.fleet.tasks))
        scene.plans.hear()
        await scene.plans.look()

    assert scene.files.edits == edits


@pytest.mark.parametrize("step", [Step.FREEZE, Step.UPDATE, Step.AWAIT_ACK, Step.FENCE])
async def test_e67_while_a_handoff_goes_on_its_files_stay_and_are_told_when_it_is_over(
    scene: Scene, step: Step
) -> None:
    """What the successor is to quote would not be what stands there."""
    scene.hands_over(step)
    await scene.ends("1")
    assert (scene.files.edits, scene.statuses()[0]) == (0, "in_progress")

    scene.hands_over(Step.DONE)
    scene.plans.hear()
    await scene.plans.look()
    assert scene.statuses()[0] == "completed"


async def test_f_ho_20_a_plan_that_contradicts_itself_is_left_and_told_once_and_written_when_it_is_sound(
    scene: Scene,
) -> None:
    plan = scene.project / PHASE / "plan.md"
    plan.write_text(PLAN + "\n### Task 3: Open\n")
    before = plan.read_bytes()
    with capture_logs() as logs:
        await scene.ends("1")
        await scene.plans.look()
    assert plan.read_bytes() == before
    assert len([one for one in logs if one["event"] == "plans_not_told"]) == 1

    plan.write_text(PLAN)
    await scene.plans.look()
    assert scene.statuses()[0] == "completed"


async def test_e67_a_phase_that_lacks_its_plan_keeps_the_end_from_being_taken_for_told(scene: Scene) -> None:
    plan = scene.project / PHASE / "plan.md"
    plan.unlink()
    await scene.ends("1")
    plan.write_text(PLAN)
    await scene.plans.look()

    assert scene.statuses()[0] == "completed"


async def test_e10_tasks_of_no_plan_and_of_a_project_without_files_make_none(scene: Scene, tmp_path: Path) -> None:
    bare = Scene(tmp_path / "bare")
    for path in sorted(bare.project.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    bare.project.rmdir()
    await bare.ends("1")
    await scene.ends("")

    assert not bare.project.exists()
    assert scene.files.edits == 0


async def test_e10_another_workspace_with_a_project_of_that_name_is_another_project(
    scene: Scene, tmp_path: Path
) -> None:
    other = Scene(tmp_path / "other")
    other.fleet = replace(scene.fleet, tasks=Tasks())
    await scene.ends("1")
    other.fleet = scene.fleet
    other.plans.hear()
    await other.plans.look()

    assert other.statuses()[0] == "in_progress"
    assert scene.statuses()[0] == "completed"
