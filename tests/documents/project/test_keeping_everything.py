"""Nothing is lost in a handoff, whatever the project is: tasks, artifacts and memory before are those after (E82)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from phoenixd.core.rules import PhaseRules
from phoenixd.documents.project import package
from phoenixd.documents.project.jobs import JOBS
from phoenixd.documents.project.tree import Tree
from phoenixd.documents.project.update import Sources, TaskOutcome, planner_of_tasks
from tests.documents.project.projects import NOW, plan_of, tree_of

PHASES = ("phase-01-planning", "phase-02-building", "phase-10-selling")
STATUSES = ("pending", "in_progress", "completed", "blocked")
NAMES = ("a.txt", "task-1/b.txt", "task-2/deep/c.txt", "d.json")

plans = st.dictionaries(st.sampled_from(PHASES), st.lists(st.sampled_from(STATUSES), max_size=5), min_size=1)
files = st.sets(st.tuples(st.sampled_from(PHASES), st.sampled_from(NAMES)))
memories = st.sets(st.sampled_from(("patterns.md", "rules.md", "decisions.md")))
ends = st.lists(st.tuples(st.integers(0, 14), st.sampled_from(("completed", "blocked"))), max_size=8)


def everything(tree: Tree, one: package.HandoffPackage) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """The tasks, artifacts and memory files that a package names; the manifests are phoenixd's own."""
    state = one.project_state
    manifests = {tree.paths.manifest(phase) for phase in tree.phases}
    artifacts = Counter(path for path in one.artifacts if path not in manifests)
    return Counter([*state.completed_tasks, *state.pending_tasks]), artifacts, Counter(one.memory_files)


@given(plans, files, memories, st.lists(ends, min_size=1, max_size=2), st.booleans())
def test_e82_tasks_artifacts_and_memory_of_each_package_are_those_of_the_project(
    told: dict[str, list[str]],
    made: set[tuple[str, str]],
    kept: set[str],
    rounds: list[list[tuple[int, str]]],
    short: bool,
) -> None:
    number, written, tasks = 0, {}, []
    for phase in sorted(told, key=PHASES.index):
        rows = []
        for status in told[phase]:
            number += 1
            rows.append((str(number), status))
            tasks.append((phase, str(number)))
        written[phase] = plan_of(*rows)
    artifacts = {f"{phase}/artifacts/{name}": b"x" for phase, name in made if phase in told}
    memory = tuple(f".claude/orchestrators/orchestrator-0/memory/{name}" for name in sorted(kept))
    tree = replace(tree_of(written, artifacts=artifacts), memory=memory)
    before = (
        Counter(f"Task {id_}: work {id_}" for _, id_ in tasks),
        Counter(one.path for one in tree.artifacts),
        Counter(memory),
    )
    rules = PhaseRules(20, 15) if short else PhaseRules()

    previous = "orchestrator-0"
    for turn, found in enumerate(rounds, 1):
        outcomes = tuple(
            TaskOutcome(_phase_of(tree, tasks[at % len(tasks)][1]), tasks[at % len(tasks)][1], status, "why")  # type: ignore[arg-type]
            for at, status in found
            if tasks
        )
        sources = Sources(now=NOW, outcomes=outcomes, rules=rules)
        tree = tree.after(planner_of_tasks(tree, sources))
        for _, job in JOBS:
            tree = tree.after(job(tree, sources))
        state = tree.state()
        assert state is not None
        one = package.build(
            tree, state, previous=previous, new=f"orchestrator-{turn}", created_at=NOW, generation=turn + 1,
            summary="All is well.", word="w",
        )  # fmt: skip
        assert everything(tree, one) == before
        assert package.check(one) == package.outdated(one, tree) == package.lost_artifacts(one, tree) == ()
        previous = one.new_session_id


def _phase_of(tree: Tree, task: str) -> str:
    """Where a task stands by now: its phase may have been split."""
    return next(phase for phase, plan in tree.plans().items() if any(one.id == task for one in plan.tasks))
