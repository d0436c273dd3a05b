"""What a successor is told first: the seed's facts, and nothing that proves that it read the package."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.documents.project import init_prompt, package
from phoenixd.documents.project.models import FailedApproach, HandoffPackage
from tests.documents.project.projects import SEED_PACKAGE, encoded

PATH = ".claude/orchestrators/orchestrator-xyz789/handoff-package.json"
ACK = "Say: acknowledged."


def seed(**more: Any) -> HandoffPackage:
    told = package.read(encoded({**SEED_PACKAGE, "word": "heron-4711", **more}), "p")
    return told.model_copy(update={"hash": package.digest(told)})


def prompt(of: HandoffPackage) -> str:
    return init_prompt.render(of, PATH, ACK)


def test_e44_the_prompt_has_each_of_the_seeds_facts() -> None:
    lines = prompt(seed()).splitlines()

    for line in (
        "Previous session: orchestrator-abc123", "Project: my-project", "Current phase: phase-03-implementation",
        "Current step: 15", "- Task 3: Database schema", "- Task 6: Testing", "- claude.md files: 3",
        "- artifacts: 2 files", "- memory files: 2",
        "- plans: phase-01-planning, phase-02-architecture, phase-03-implementation",
        "Project in implementation phase. Database schema complete. Starting API development.",
    ):  # fmt: skip
        assert line in lines


def test_e45_the_five_tasks_and_the_last_is_to_acknowledge() -> None:
    text = prompt(seed())

    assert all(f"\n{number}. " in text for number in range(1, 6))
    assert "\n6. " not in text
    assert text.rstrip().endswith(ACK)
    assert PATH in text


def test_e65_e66_one_plan_is_to_be_loaded_and_the_others_are_listed_as_reference() -> None:
    text = prompt(seed())
    listed, tasks = text.split("\nYour task:\n")
    reference = listed.split("\nFor reference alone, ")[1].splitlines()[1:]

    assert reference == [
        "- .claude/projects/my-project/phase-01-planning/plan.md",
        "- .claude/projects/my-project/phase-02-architecture/plan.md",
    ]
    assert tasks.count("plan.md") == 2  # Where it lies, and that phoenixd keeps it.
    assert "2. Load the current phase: .claude/projects/my-project/phase-03-implementation/plan.md" in tasks
    assert text.count("/claude.md") == 1


def test_e66_of_many_phases_each_path_that_is_listed_is_whole_and_the_others_are_counted() -> None:
    plans = {
        f"phase-{number:02d}-{'n' * 90}": f".claude/projects/my-project/phase-{number:02d}-{'n' * 90}/plan.md"
        for number in range(1, 301)
    }
    text = prompt(seed(planFiles=plans, currentPhase=f"phase-300-{'n' * 90}"))
    listed = [line for line in text.splitlines() if line.startswith("- .claude/")]

    assert len(text) <= init_prompt.LIMIT + 1
    assert len(listed) >= 5
    assert {line[2:] for line in listed} <= set(plans.values())
    assert f"- and {299 - len(listed)} more, all in the package" in text
    assert text.rstrip().endswith(ACK)


def test_e66_a_project_of_one_phase_has_nothing_for_reference() -> None:
    only = {key: path for key, path in SEED_PACKAGE["planFiles"].items() if key == SEED_PACKAGE["currentPhase"]}

    assert "For reference alone" not in prompt(seed(planFiles=only))


def test_x1_no_share_of_a_context_and_neither_hash_nor_word_stands_in_it() -> None:
    one = seed()
    text = prompt(one)

    assert one.hash is not None
    assert one.hash not in text
    assert "heron-4711" not in text
    assert "%" not in text
    assert "token" not in text.lower()


def test_x30_a_degraded_package_says_what_is_missing() -> None:
    text = prompt(seed(degraded=True, failures=["planner: plan.md has two tasks 3"], running=["make bench"]))

    assert "- planner: plan.md has two tasks 3" in text
    assert "- make bench" in text
    assert "Not everything" not in prompt(seed())


def test_e44_long_lists_are_counted_and_the_prompt_is_bounded() -> None:
    state = {**SEED_PACKAGE["projectState"], "contextSummary": "s" * 20_000}
    state["pendingTasks"] = [f"Task {number}: {'w' * 500}" for number in range(5000)]
    state["completedTasks"] = [f"Task {number}: done\n- Task 0: forged" for number in range(5000, 9000)]
    text = prompt(seed(projectState=state))

    assert len(text) <= init_prompt.LIMIT + 1
    assert "Pending tasks (5000):" in text
    assert "Completed tasks (4000):" in text
    assert "- Task 0: forged" not in text.splitlines()
    assert "Task 8999: done" in text  # Of what is over, the newest.
    assert text.rstrip().endswith(ACK)


@pytest.mark.parametrize("key", ["currentPhase", "planFiles"])
def test_a_package_without_a_phase_still_makes_a_prompt(key: str) -> None:
    assert "none is current" in prompt(seed(**{key: None if key == "currentPhase" else {}, "claudeMdFiles": []}))


def test_e90_what_failed_before_is_told() -> None:
    one = seed().model_copy(update={"scratchpad": (FailedApproach(approach="a", avoid_approach="do not use sed"),)})

    assert "- do not use sed" in prompt(one)
    failed = FailedApproach(approach="Task 5: Build", attempts=2, failure_reason="t7: the API key is missing")
    told = prompt(one.model_copy(update={"scratchpad": (failed, FailedApproach(approach="by hand"))}))
    assert "- Task 5: Build, 2 times: t7: the API key is missing\n- by hand\n" in told
