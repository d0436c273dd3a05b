"""Plans that grow too long are noticed when they change, and are an alert until they are short (E68)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Stopped
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen
from phoenixd.core.rules import PhaseRules
from phoenixd.core.spec import Kind
from phoenixd.documents.project.tree import Tree
from phoenixd.drivers.files import project as projects
from phoenixd.memory.phase_limits import KIND, PhaseLimits
from tests.core.story import Story, claude

PHASE = ".claude/projects/shop/phase-01-work"


@dataclass
class Scene:
    """An orchestrator that works on the project `shop`, and the look at its plans."""

    work: Path
    story: Story = field(init=False)
    heard: list[Event] = field(default_factory=list)
    reads: int = 0

    def __post_init__(self) -> None:
        (self.work / PHASE).mkdir(parents=True)
        self.plan(8)
        rules = {"phase": PhaseRules(max_lines=50, warn_lines=40), "project": "shop", "cwd": str(self.work)}
        self.story = Story(claude(**{"kind": Kind.ORCHESTRATOR, **rules})).works()
        self.begun()

    def begun(self) -> None:
        """A new daemon's look."""
        self.limits = PhaseLimits(self.agents, projects.stamps_of, self.read, self.tell, lambda: 1.8e9)

    def agents(self) -> list[Agent]:
        return list(self.story.fleet.agents.values())

    def read(self, workspace: str, project: str) -> Tree:
        self.reads += 1
        return projects.read_plans(workspace, project)

    def tell(self, event: Event) -> None:
        self.heard.append(event)
        self.story.tell(event)

    def plan(self, tasks: int) -> None:
        lines = "".join(f"### Task {number}: a\n- **Status**: pending\n\n\n" for number in range(1, tasks + 1))
        (self.work / PHASE / "plan.md").write_text(f"# Phase\n\n## Tasks\n\n{lines}")

    def standing(self) -> list[str]:
        return [one.text for one in self.story.agent.alerts if one.kind == KIND]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


async def test_e68_a_plan_that_grows_too_long_is_an_alert_with_the_planned_split_until_it_is_short(
    scene: Scene,
) -> None:
    await scene.limits.look()
    assert scene.heard == []
    scene.plan(12)
    await scene.limits.look()

    (text,) = scene.standing()
    assert text.startswith(f"{PHASE}/plan.md has 52 lines, and 50 are the most: phoenixctl phase split ")
    assert "; the next handoff splits it (" in text
    assert "phase-01-work-part1" in text
    scene.plan(9)
    await scene.limits.look()
    assert scene.standing() == []
    assert [type(one) for one in scene.heard] == [TroubleSeen, TroubleGone]


async def test_e68_what_did_not_change_is_neither_read_nor_told_again(scene: Scene) -> None:
    scene.plan(12)
    for _ in range(5):
        await scene.limits.look()

    assert (scene.reads, len(scene.heard)) == (1, 1)


async def test_e68_a_limit_that_an_operator_changes_holds_without_a_change_of_the_plan(scene: Scene) -> None:
    scene.plan(12)
    await scene.limits.look()
    agent = scene.story.agent
    wider = replace(agent, spec=replace(agent.spec, phase=PhaseRules(60, 40)))
    scene.story.fleet = replace(scene.story.fleet, agents=scene.story.fleet.roster.taking(wider))
    await scene.limits.look()

    assert scene.standing() == []


async def test_e68_a_new_daemon_looks_anew_and_an_alert_that_stands_is_over_when_the_plan_is_short(
    scene: Scene,
) -> None:
    scene.plan(12)
    await scene.limits.look()
    scene.plan(9)
    scene.begun()
    await scene.limits.look()

    assert scene.standing() == []


@pytest.mark.parametrize("changes", [{"kind": Kind.RESIDENT}, {"state": Stopped()}])
async def test_e68_only_an_orchestrator_that_runs_is_looked_at(scene: Scene, changes: dict[str, Any]) -> None:
    scene.plan(12)
    agent = scene.story.agent
    if "kind" in changes:
        agent = replace(agent, spec=replace(agent.spec, **changes))
    else:
        agent = replace(agent, **changes)
    scene.story.fleet = replace(scene.story.fleet, agents=scene.story.fleet.roster.taking(agent))
    await scene.limits.look()

    assert (scene.reads, scene.heard) == (0, [])


async def test_e68_a_plan_that_cannot_be_read_is_told_for_nobody_knows_its_length(scene: Scene) -> None:
    plan = scene.work / PHASE / "plan.md"
    plan.unlink()
    plan.symlink_to("/etc/passwd")
    await scene.limits.look()

    (text,) = scene.standing()
    assert text.startswith(f"{PHASE}/plan.md was not read: ")


async def test_e68_a_workspace_that_is_gone_costs_this_look_alone(scene: Scene) -> None:
    scene.work.rename(scene.work.with_name("elsewhere"))
    await scene.limits.look()
    scene.work.with_name("elsewhere").rename(scene.work)
    scene.plan(12)
    await scene.limits.look()

    assert len(scene.standing()) == 1


@pytest.mark.parametrize("kind", ["files", "bytes"])
async def test_e68_a_project_that_is_too_much_to_look_at_is_told_once_and_not_read(scene: Scene, kind: str) -> None:
    for number in range(2, 503 if kind == "files" else 11):
        phase = scene.work / f"{PHASE}/../phase-{number}-x"
        phase.mkdir()
        for name in ("plan.md", "claude.md"):
            (phase / name).touch()
            os.truncate(phase / name, 0 if kind == "files" else 1 << 20)
    for tasks in (8, 9, 10):
        scene.plan(tasks)
        await scene.limits.look()

    (text,) = scene.standing()
    assert "too much to look at" in text
    assert (scene.reads, len(scene.heard)) == (0, 1)


@pytest.mark.parametrize("kind", ["loop", "file", "closed", "link"])
async def test_e68_a_phase_that_cannot_be_entered_hides_no_other(scene: Scene, kind: str) -> None:
    phase = scene.work / PHASE / "../phase-00-x"
    if kind == "closed":
        phase.mkdir(mode=0)
    elif kind == "file":
        phase.touch()
    else:
        phase.symlink_to(phase if kind == "loop" else scene.work)
    scene.plan(12)
    await scene.limits.look()

    assert len(scene.standing()) == 1


def test_e68_a_look_reads_neither_archives_nor_artifacts(scene: Scene) -> None:
    for path in ("archive/001-split/plan.md", "artifacts/manifest.json", "artifacts/task-1/a"):
        (scene.work / PHASE / path).parent.mkdir(parents=True, exist_ok=True)
        (scene.work / PHASE / path).write_text("x")
    tree = projects.read_plans(str(scene.work), "shop")

    assert (list(tree.files), tree.artifacts, tree.unread) == ([f"{PHASE}/plan.md"], (), ())
    assert len(projects.read_project(str(scene.work), "shop").files) == 3
