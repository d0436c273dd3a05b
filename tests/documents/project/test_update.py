"""The update before a handoff: three jobs, deterministic, in their order, and a person's words keep their bytes."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from phoenixd.core.rules import PhaseRules
from phoenixd.documents.deeds import CommandBegan, CommandEnded, Question, QuestionAsked, TaskRow, TasksListed
from phoenixd.documents.project import package
from phoenixd.documents.project.jobs import JOBS
from phoenixd.documents.project.models import Manifest, OrchestratorState
from phoenixd.documents.project.reading import read_document
from phoenixd.documents.project.tree import Changes, Tree
from phoenixd.documents.project.update import (
    INTERRUPTED,
    Sources,
    TaskOutcome,
    artifact_publisher,
    planner,
    state_after,
)
from phoenixd.documents.project.writing import BEGIN, END, summary, technical_writer
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.documents.transcript import Record
from phoenixd.errors import BadProject
from tests.documents.project.projects import BUILDING, NOW, PLANNING, encoded, plan_of, tree_of

STATE = encoded(
    {
        "projectName": "shop", "currentPhase": PLANNING, "currentStep": 7, "x-mine": [1],
        "phases": {PLANNING: {"status": "in_progress", "startedAt": NOW, "x-note": "kept"}},
        "completedTasks": ["Task 2: work 2", "by hand, in no plan"], "pendingTasks": ["Task 1: work 1", "also by hand"],
    }
)  # fmt: skip


def project() -> Tree:
    plans = {
        PLANNING: plan_of(("1", "in_progress"), ("2", "completed"), ("3", "pending")),
        BUILDING: plan_of(("4", "pending"), ("5", "in_progress"), title="Phase 2: Building"),
    }
    return tree_of(plans, artifacts={f"{PLANNING}/artifacts/task-1/deep/a.txt": b"a"}, state=STATE)


def told(*rows: tuple[str, str]) -> SessionLedger:
    ledger = SessionLedger()
    listed = tuple(TaskRow(None, text, "done" if status == "done" else "open") for text, status in rows)
    ledger.tasks.listed(TasksListed(None, listed, True, None))
    return ledger


def updated(tree: Tree, sources: Sources) -> Tree:
    for _, job in JOBS:
        tree = tree.after(job(tree, sources))
    return tree


def state_of(tree: Tree) -> OrchestratorState:
    state = tree.state()
    assert state is not None
    return state


def statuses(tree: Tree) -> dict[str, str]:
    return {task.id: task.status for plan in tree.plans().values() for task in plan.tasks}


def test_e26_the_planner_writes_what_reports_and_the_agents_own_list_say() -> None:
    ledger = told(("Task 1: work 1", "done"), ("work 3", "done"), ("Task 4", "done"), ("something else", "done"))
    outcomes = (TaskOutcome(BUILDING, "5", "blocked", "the API\nkey is missing"),)

    after = project().after(planner(project(), Sources(now=NOW, ledger=ledger, outcomes=outcomes)))
    # Words that only resemble a task's name close nothing.
    assert statuses(after) == {"1": "completed", "2": "completed", "3": "pending", "4": "completed", "5": "blocked"}
    assert b"- **Note**: the API key is missing" in after.files[after.paths.plan(BUILDING)]


def test_e5_a_task_that_is_interrupted_goes_back_to_pending_unless_a_worker_has_it() -> None:
    after = project().after(planner(project(), Sources(now=NOW, running=frozenset({(BUILDING, "5")}))))

    assert statuses(after)["1"] == "pending"
    assert statuses(after)["5"] == "in_progress"
    assert INTERRUPTED.encode() in after.files[after.paths.plan(PLANNING)]


def test_e10_and_x3_the_state_follows_from_the_plans_and_keeps_what_a_person_wrote() -> None:
    after = updated(project(), Sources(now=NOW, ledger=told(("Task 1: work 1", "done"))))

    state = state_of(after)
    assert state.completed_tasks == ("Task 2: work 2", "by hand, in no plan", "Task 1: work 1")
    assert state.pending_tasks == ("Task 3: work 3", "Task 4: work 4", "Task 5: work 5", "also by hand")
    assert (state.current_step, state.current_phase) == (8, PLANNING)
    written = json.loads(after.files[after.paths.state])
    assert written["x-mine"] == [1]
    assert written["phases"][PLANNING]["x-note"] == "kept"


def test_e83_phases_are_dated_and_the_next_one_becomes_current() -> None:
    done = (TaskOutcome(PLANNING, "1", "completed"), TaskOutcome(PLANNING, "3", "completed"))

    state = state_of(updated(project(), Sources(now="2026-02-01T00:00:00Z", outcomes=done)))
    first, second = state.phases[PLANNING], state.phases[BUILDING]
    assert (first.status, first.started_at, first.completed_at) == ("completed", NOW, "2026-02-01T00:00:00Z")
    assert (second.status, second.started_at) == ("not_started", None)
    assert state.current_phase == BUILDING


def test_e27_the_technical_writer_has_a_part_of_its_own_and_leaves_the_rest() -> None:
    before = project()
    path = before.paths.context(PLANNING)
    mine = b"# Mine\r\n\r\nwords  \r\n```\r\n" + BEGIN.encode() + b" quoted\r\n```\r\nthe end"
    before = before.after(Changes({path: mine}))

    once = before.after(technical_writer(before, Sources(now=NOW)))
    twice = once.after(technical_writer(once, Sources(now="2026-02-02T00:00:00Z")))
    for tree, when in ((once, NOW), (twice, "2026-02-02T00:00:00Z")):
        content = tree.files[path]
        assert content.startswith(mine)
        assert content.count(b"\n" + END.encode()) == 1
        assert f"As of {when}".encode() in content
        assert content.count(b"\n") == content.count(b"\r\n")
    assert technical_writer(twice, Sources(now="2026-02-02T00:00:00Z")) == Changes()
    torn = before.after(Changes({path: once.files[path].replace(END.encode(), b"")}))
    with pytest.raises(BadProject, match="has lost a line"):
        technical_writer(torn, Sources(now=NOW))


def test_e27_what_the_session_left_is_told_without_secrets_and_on_one_line() -> None:
    ledger = SessionLedger()
    ledger.hear(Record("assistant", 1.0, (CommandBegan("c", "make test\n## Task 9: forged", 1.0),)))
    ledger.hear(Record("tool", 2.0, (CommandEnded("c", 2, True, False, 2.0),)))
    ledger.hear(Record("assistant", 3.0, (QuestionAsked("q", (Question("Which key, s3cret?"),), 3.0),)))

    sources = Sources(now=NOW, ledger=ledger, clean=lambda text: text.replace("s3cret", "[gone]"))
    tree = project().after(technical_writer(project(), sources))
    text = tree.files[tree.paths.context(PLANNING)].decode()
    assert "- Commands that failed last: make test ## Task 9: forged\n" in text
    assert "Which key, [gone]?" in text
    assert "s3cret" not in summary(tree, state_of(tree), sources)


def test_e28_the_manifest_names_each_artifact_with_size_hash_and_task() -> None:
    plans = {PLANNING: plan_of(("1", "completed")).replace(b"- Desc", b"- **Artifacts**: brief.json\n- Desc")}
    made = {f"{PLANNING}/artifacts/{name}": b"x" for name in ("brief.json", "task-9/a/b.txt", "stray.txt")}
    before = tree_of(plans, artifacts=made)
    path = before.paths.manifest(PLANNING)

    after = before.after(artifact_publisher(before, Sources(now=NOW)))
    manifest = read_document(Manifest, after.files[path], path)
    root = before.paths.artifacts(PLANNING)
    assert {one.path.removeprefix(f"{root}/"): (one.size, one.task) for one in manifest.files} == {
        "brief.json": (1, "1"), "task-9/a/b.txt": (1, "9"), "stray.txt": (1, None),
    }  # fmt: skip
    assert all(one.sha256 for one in manifest.files)
    assert artifact_publisher(after, Sources(now="2027-01-01T00:00:00Z")) == Changes()


def test_e42_a_summary_is_never_empty_and_the_package_of_an_updated_project_is_whole() -> None:
    tree = updated(project(), Sources(now=NOW))
    words = summary(tree, state_of(tree), Sources(now=NOW))

    assert "shop is in phase-01-planning" in words
    one = package.build(
        tree, state_of(tree), previous="a", new="b", created_at=NOW, generation=2, summary=words, word="w"
    )
    assert package.check(one) == package.outdated(one, tree) == ()


def test_e82_no_task_is_lost_or_doubled_by_five_updates_in_a_row() -> None:
    def everything(tree: Tree) -> Counter[str]:
        state = state_of(tree)
        return Counter([*state.completed_tasks, *state.pending_tasks])

    tree = updated(project(), Sources(now=NOW))
    first = everything(tree)
    for number in range(1, 6):
        done = (TaskOutcome(PLANNING if number < 4 else BUILDING, str(number), "completed"),)
        tree = updated(tree, Sources(now=NOW, outcomes=done, rules=PhaseRules(20, 15)))
        assert everything(tree) == first
    assert statuses(tree) == dict.fromkeys("12345", "completed")


def test_f_ho_20_a_plan_that_is_gone_or_contradicts_itself_is_told_and_nothing_is_written() -> None:
    for content, why in ((None, "is not there"), (plan_of(("1", "pending"), ("1", "pending")), "stands here")):
        tree = project()
        path = tree.paths.plan(BUILDING)
        tree = tree.after(Changes({path: content}) if content is not None else Changes(removes=(path,)))
        with pytest.raises(BadProject, match=why):
            planner(tree, Sources(now=NOW))


def test_a_state_that_is_missing_is_made_of_the_plans() -> None:
    state = state_after(tree_of({PLANNING: plan_of(("1", "completed"), ("2", "pending"))}), None, Sources(now=NOW))

    assert (state.completed_tasks, state.pending_tasks) == (("Task 1: work 1",), ("Task 2: work 2",))
    assert (state.current_step, state.current_phase) == (1, PLANNING)
