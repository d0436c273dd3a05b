"""Which task of a plan a worker may be given now: one of this phase, that exists, whose dependencies are done."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.documents.project.handing_out import HandedOut, NotHandedOut, handed_out, told
from phoenixd.documents.project.tree import Tree
from phoenixd.errors import BadProject
from tests.documents.project.projects import BUILDING, PLANNING, tree_of

FIRST = b"""# Phase 1

## Tasks

### Task 1: Ask around
- **Status**: completed

### Task 2: Draw the till
- **Dependencies**: Task 1

### Task 3: Price it
- **Dependencies**: Task 2

### Task 4: Sell it
- **Dependencies**: Task 9
"""
SECOND = b"# Phase 2\n\n## Tasks\n\n### Task 1: Lay the ground\n\n### Task 7: Build the till\n"
NOTHING: frozenset[tuple[str, str]] = frozenset()


def tree(first: bytes = FIRST, second: bytes = SECOND) -> Tree:
    return tree_of({PLANNING: first, BUILDING: second})


def of(word: str, of_tree: Tree | None = None, done: frozenset[tuple[str, str]] = NOTHING,
       coming: frozenset[tuple[str, str]] = NOTHING) -> HandedOut | NotHandedOut:  # fmt: skip
    return handed_out(of_tree or tree(), word, done, coming)


def refused(word: str, **more: object) -> NotHandedOut:
    found = of(word, **more)  # type: ignore[arg-type]
    assert isinstance(found, NotHandedOut), found
    return found


def test_e54_e65_a_task_that_can_begin_names_the_files_of_its_phase_and_of_no_other() -> None:
    found = of("2")
    assert isinstance(found, HandedOut)
    assert found.phase == PLANNING
    text = told("Draw it.", found, "/srv/shop/")
    assert text.startswith("Draw it.\n")
    assert f"Task 2: Draw the till of /srv/shop/.claude/projects/{tree().project}/{PLANNING}/plan.md" in text
    assert f"{PLANNING}/claude.md" in text
    assert BUILDING not in text


def test_an_unknown_task_is_refused_with_those_that_there_are() -> None:
    why = refused("12")
    assert why.kind == "unknown"
    assert "Task 2: Draw the till; Task 3: Price it; Task 4: Sell it" in why.message
    assert "Ask around" not in why.message


def test_a_task_of_another_phase_is_none_of_this_one_and_the_refusal_says_where_it_stands() -> None:
    assert f"it stands in {BUILDING}, and {PLANNING} is the phase at work" in refused("7").message


@pytest.mark.parametrize("known", ["done", "coming"])
def test_e86_a_dependency_is_completed_in_the_plan_or_done_or_awaited_by_a_worker_of_this_phase(known: str) -> None:
    why = refused("3")
    assert why.kind == "conflict"
    assert "Task 3: Price it waits for Task 2: Draw the till, which is pending" in why.message
    assert isinstance(of("3", **{known: frozenset({(PLANNING, "2")})}), HandedOut)
    assert isinstance(of("3", **{known: frozenset({(BUILDING, "2")})}), NotHandedOut)


def test_e86_a_dependency_that_nothing_is_called_is_refused_by_name() -> None:
    assert "depends on Task 9" in refused("4").message or "depends on 9" in refused("4").message


def test_f_ph_5_tasks_that_wait_for_each_other_are_refused_and_named() -> None:
    waits = [("1: A", "Task 2"), ("2: B", "Task 1"), ("3: C", "none")]
    tasks = [f"### Task {name}\n- **Dependencies**: {other}\n" for name, other in waits]
    circle = "\n".join(["# P\n\n## Tasks\n", *tasks]).encode()
    looped = tree(circle)
    assert "Task 1: A -> Task 2: B -> Task 1: A" in refused("1", of_tree=looped).message
    assert isinstance(of("3", looped), HandedOut), "it waits for none of them"


def test_what_is_completed_is_not_done_twice() -> None:
    assert "completed already" in refused("1").message


def test_the_phase_at_work_is_the_next_one_once_workers_have_done_all_of_this() -> None:
    done = frozenset({(PLANNING, "2"), (PLANNING, "3"), (PLANNING, "4")})
    found = of("7", done=done)
    assert isinstance(found, HandedOut)
    assert found.phase == BUILDING


def test_a_plan_that_contradicts_itself_is_refused_with_its_line() -> None:
    with pytest.raises(BadProject, match="line"):
        of("1", tree(b"# P\n\n## Tasks\n\n### Task 1: A\n\n### Task 1: B\n"))


def test_a_project_without_a_plan_has_no_task() -> None:
    bare = replace(tree(), phases=(), files={})
    assert refused("1", of_tree=bare).kind == "unknown"
