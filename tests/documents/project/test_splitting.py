"""A plan that grew too long becomes several: no task is lost or doubled, and undone it has the same bytes."""

from __future__ import annotations

import random
import sys
from collections import Counter
from types import FrameType

import pytest

from phoenixd.core.rules import PhaseRules
from phoenixd.documents.project import revision
from phoenixd.documents.project.plan import Plan, read_plan
from phoenixd.documents.project.reading import line_count
from phoenixd.documents.project.shortening import archive, summarise
from phoenixd.documents.project.splitting import require_same_tasks, split
from phoenixd.documents.project.tree import Changes, Tree
from phoenixd.documents.project.update import Sources, planner, state_after
from phoenixd.documents.project.writing import technical_writer
from phoenixd.errors import BadProject
from tests.documents.project.projects import BUILDING, NOW, PLANNING, SEED_STATE, encoded, plan_of, tree_of

RULES = PhaseRules(max_lines=40, warn_lines=30)
STATE = encoded({**SEED_STATE, "projectName": "shop", "currentPhase": PLANNING})


def tasks_of(tree: Tree) -> Counter[tuple[str, str]]:
    return Counter((task.title, task.status) for plan in tree.plans().values() for task in plan.tasks)


def generated(seed: int) -> bytes:
    """A plan as people and agents write them: tasks as headings or boxes, fences, quotations, lists, any line end."""
    dice = random.Random(seed)
    lines = [
        "# Phase 1: Planning",
        "",
        "## Overview",
        "Words on Task 1.",
        "",
        "```",
        "### Task 999: example",
        "```",
        "",
        "## Tasks",
    ]
    for number in range(1, dice.randint(2, 24)):
        status = dice.choice(["completed", "Done", "pending", "in progress", "blocked"])
        if dice.random() < 0.7:
            lines += [f"### Task {number}: work {number}", f"- **Status**: {status}"]
            lines += [f"- **Dependencies**: Task {dice.randint(1, number)}"] * dice.randint(0, 1)
            for _ in range(dice.randint(0, 4)):
                lines += dice.choice(
                    [["some words", ""], ["```", "## Task 77: fenced", "```"], ["> ### Task 8: quoted", ""],
                     ["- [ ] a step", "- [x] another"], ["#### Notes", "below it"], ["", "    indented"], ["***"]]
                )  # fmt: skip
        else:
            lines += ["", dice.choice(["## More tasks", "## Tasks, second list"]), ""]
            for box in range(dice.randint(1, 3)):
                lines.append(f"- [{dice.choice(' x')}] box {number}.{box}")
                lines += [f"  - **Status**: {status}"] * dice.randint(0, 1)
            lines += ["", "## Work", ""]
    lines += ["", "## Notes", "the end"]
    newline = dice.choice(["\n", "\r\n"])
    return (newline.join(lines) + dice.choice(["", newline, newline * 2])).encode()


@pytest.mark.slow
def test_f_ph_2_a_thousand_plans_lose_no_task_and_come_back_to_the_same_bytes() -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(1000):
        before = tree_of({PLANNING: generated(seed), BUILDING: plan_of(("50", "pending"))}, state=STATE)
        try:
            made = split(before, PLANNING, RULES, NOW)
        except BadProject as error:
            outcomes[error.message.split(":")[-1][:30]] += 1
            continue
        after = before.after(made.changes)
        assert tasks_of(after) == tasks_of(before), seed
        parts = [phase for phase in after.phases if "-part" in phase]
        assert all(line_count(after.files[after.paths.plan(part)]) <= RULES.max_lines for part in parts), seed
        assert before.files[before.paths.plan(PLANNING)] in made.changes.writes.values()
        back = after.after(revision.undo(after, PLANNING).changes)
        assert (dict(back.files), back.phases) == (dict(before.files), before.phases), seed
        outcomes["split"] += 1
    assert outcomes["split"] > 500, outcomes


def test_e64_completed_tasks_go_to_part_1_and_open_ones_to_part_2_with_all_other_text() -> None:
    plan = plan_of(("1", "completed"), ("2", "pending"), ("3", "completed"), ("4", "blocked"))
    before = tree_of({PLANNING: plan}, state=STATE)

    after = before.after(split(before, PLANNING, RULES, NOW).changes)
    first, second = after.plan(f"{PLANNING}-part1"), after.plan(f"{PLANNING}-part2")
    assert first is not None
    assert second is not None
    assert [task.id for task in first.tasks] == ["1", "3"]
    assert [task.id for task in second.tasks] == ["2", "4"]
    assert b"What this is." in second.content
    assert after.files[after.paths.context(f"{PLANNING}-part2")] == before.files[before.paths.context(PLANNING)]
    state = after.state()
    assert state is not None
    assert state.current_phase == f"{PLANNING}-part2"
    assert state.phases[f"{PLANNING}-part1"].status == "completed"
    # The next update leaves it so, and the index counts for its parts.
    later = state_after(after, state, Sources(now=NOW))
    assert (later.current_phase, later.phases[PLANNING].status) == (f"{PLANNING}-part2", "in_progress")


def test_open_tasks_that_do_not_fit_go_to_further_parts_in_their_order() -> None:
    plan = plan_of(*((str(number), "pending") for number in range(1, 30)))
    before = tree_of({PLANNING: plan})

    after = before.after(split(before, PLANNING, RULES, NOW).changes)
    found = [task.id for phase, plan in after.plans().items() if "-part" in phase for task in plan.tasks]
    assert found == [str(number) for number in range(1, 30)]


def refused(plan: bytes) -> str:
    with pytest.raises(BadProject) as error:
        split(tree_of({PLANNING: plan}), PLANNING, RULES, NOW)
    assert error.value.remedy
    return error.value.message


def test_what_cannot_be_split_is_refused_by_name_and_nothing_changes() -> None:
    assert "it has no task" in refused(b"# Only words\n")
    assert "fit into one plan" in refused(plan_of(("1", "pending"), ("2", "pending")))
    assert "lines outside of its tasks" in refused(b"words\n\n" * 40 + plan_of(("1", "completed"), ("2", "pending")))
    assert "task 1 alone has" in refused(b"# T\n## Task 1: a\n" + b"words\n\n" * 40 + b"## Task 2: b\n- Status: done\n")
    assert "stands here and on line" in refused(plan_of(("1", "completed"), ("1", "pending")))


def test_f_ph_2_a_split_that_would_lose_or_double_a_task_is_refused() -> None:
    plan = read_plan(plan_of(("1", "completed"), ("2", "pending")), "plan.md")

    require_same_tasks(plan, [plan.content])
    for wrong in ([], [plan.content] * 2, [plan_of(("1", "pending"), ("2", "pending"))], [b"```\n" + plan.content]):
        with pytest.raises(BadProject, match="left as it is"):
            require_same_tasks(plan, wrong)


def made_and_changed(path: str) -> Tree:
    before = tree_of({PLANNING: plan_of(("1", "completed"), ("2", "pending"))}, state=STATE)
    after = before.after(split(before, PLANNING, RULES, NOW).changes)
    return after.after(Changes({f".claude/projects/shop/{path}": b"changed since\n"}))


@pytest.mark.parametrize("path", [f"{PLANNING}/plan.md", f"{PLANNING}-part2/plan.md", f"{PLANNING}-part1/new.md"])
def test_a_split_is_not_undone_over_work_that_came_after_it(path: str) -> None:
    with pytest.raises(BadProject, match="would lose that") as error:
        revision.undo(made_and_changed(path), PLANNING)
    assert path in error.value.message


def test_undo_without_a_split_is_refused() -> None:
    with pytest.raises(BadProject, match="has no split"):
        revision.undo(tree_of({PLANNING: plan_of()}), PLANNING)


LONG = b"# T\n\n## Tasks\n\n### Task 1: a\n- **Status**: completed\n- **Agent**: b\n\n" + b"words\n\n" * 20
LONG += b"### Task 2: b\n- **Status**: pending\n\nits words\n\n## Notes\n\n" + b"- old\n\n```\n## x\n```\n\n" * 6


@pytest.mark.parametrize("act", [archive, summarise])
def test_e77_what_is_over_leaves_the_plan_and_comes_back_to_the_same_bytes(act: object) -> None:
    assert callable(act)
    before = tree_of({PLANNING: LONG}, state=STATE)

    made = act(before, PLANNING, NOW)
    after = before.after(made.changes)
    path = before.paths.plan(PLANNING)
    assert line_count(after.files[path]) < line_count(LONG) - 15
    assert tasks_of(after) == tasks_of(before)
    assert b"its words" in after.files[path]
    assert LONG in made.changes.writes.values()
    back = after.after(revision.undo(after, PLANNING).changes)
    assert dict(back.files) == dict(before.files)
    with pytest.raises(BadProject):
        act(tree_of({PLANNING: b"# T\n"}), PLANNING, NOW)


def test_e77_a_long_claude_md_is_summarised_at_whole_paragraphs() -> None:
    long = b"# C\n\nFirst.\n\n```\ncode\n```\n\n" + b"more words\n\n" * 30 + b"## Short\n\nstays\n"
    before = tree_of({PLANNING: plan_of(("1", "pending"))})
    path = before.paths.context(PLANNING)
    before = before.after(Changes({path: long}))

    after = before.after(summarise(before, PLANNING, NOW).changes)
    text = after.files[path]
    assert b"First.\n\n```\ncode\n```\n" in text
    assert text.endswith(b"## Short\n\nstays\n")
    assert b"(Shortened. As it was: archive/001-summarise/claude.md)" in text
    assert dict(after.after(revision.undo(after, PLANNING).changes).files) == dict(before.files)


def test_e78_the_planner_splits_a_plan_that_is_too_long_and_only_where_it_may() -> None:
    plan = plan_of(*((str(number), "completed" if number < 9 else "pending") for number in range(1, 18)))
    before = tree_of({PLANNING: plan}, state=STATE)
    assert line_count(plan) > RULES.max_lines

    changed = before.after(planner(before, Sources(now=NOW, rules=RULES)))
    assert f"{PLANNING}-part2" in changed.phases
    assert tasks_of(changed) == tasks_of(before)
    kept = planner(before, Sources(now=NOW, rules=PhaseRules(40, 30, auto_split=False)))
    assert before.after(kept).phases == (PLANNING,)


@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\r\n"])
def test_e78_what_a_handoff_splits_can_be_undone_although_the_same_handoff_wrote_its_own_part(
    earlier: bool, end: str
) -> None:
    plan = plan_of(*((str(number), "completed" if number < 9 else "pending") for number in range(1, 18)))
    context = f".claude/projects/shop/{PLANNING}/claude.md"
    before = tree_of({PLANNING: plan}, state=STATE).after(Changes({context: f"# Shop{end}".encode()}))
    if earlier:
        before = before.after(technical_writer(before, Sources(now=NOW)))
    sources = Sources(now="2026-02-02T00:00:00Z", rules=RULES)
    split_up = before.after(planner(before, sources))
    changed = split_up.after(technical_writer(split_up, sources))
    (part,) = (path for path, held in changed.files.items() if held != split_up.files[path])
    assert part.endswith("/claude.md")

    undone = dict(changed.after(revision.undo(changed, PLANNING).changes).files)
    state = before.paths.state
    assert {path: held for path, held in undone.items() if path != state} == {
        path: held for path, held in before.files.items() if path != state
    }

    by_hand = changed.after(Changes({part: changed.files[part].replace(b"# Shop", b"# Shop, as I see it")}))
    with pytest.raises(BadProject, match="would lose that"):
        revision.undo(by_hand, PLANNING)


def test_the_index_of_a_split_plan_names_no_task() -> None:
    plan = b"# Task 3: the title\n\n## Task 1: a\n- Status: done\n\n## Task 2: b\n"
    before = tree_of({PLANNING: b"# Plan\n" + plan[len(b"# Task 3: the title\n") :]})

    after = before.after(split(before, PLANNING, RULES, NOW).changes)
    index: Plan | None = after.plan(PLANNING)
    assert index is not None
    assert index.tasks == ()


def test_the_work_of_a_split_grows_as_the_plan_does() -> None:
    """A plan of 2 MiB has tens of thousands of tasks and headings; each with each would take minutes."""

    def calls(count: int) -> int:
        made = 0

        def called(frame: FrameType, event: str, argument: object) -> None:
            nonlocal made
            made += event == "call"

        tree = tree_of({PLANNING: plan_of(*((str(one), "pending") for one in range(1, count + 1)))})
        sys.setprofile(called)
        try:
            split(tree, PLANNING, PhaseRules(100, 90), NOW)
        finally:
            sys.setprofile(None)
        return made

    assert calls(1600) < 5 * calls(400)
