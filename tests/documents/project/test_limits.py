"""What is said of plans and contexts that grew too long (E68)."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from phoenixd.core.rules import PhaseRules
from phoenixd.documents.project import limits
from phoenixd.documents.project.limits import too_long
from phoenixd.documents.project.reading import line_count
from phoenixd.documents.project.tree import Tree
from tests.documents.project.projects import BUILDING, NOW, PLANNING, plan_of, tree_of

PLAN = plan_of(*((str(number), "completed" if number < 5 else "pending") for number in range(1, 11)))
LINES = line_count(PLAN)
WHERE = "--project shop --workspace '/srv/the shop'"


def told(tree: Tree, rules: PhaseRules) -> tuple[str, ...]:
    return too_long(tree, rules, "/srv/the shop", NOW)


@pytest.mark.parametrize(("most", "is_told"), [(LINES, False), (LINES - 1, True)])
def test_e62_e68_a_plan_of_the_most_lines_is_none_and_one_line_more_is_told(most: int, is_told: bool) -> None:
    assert bool(told(tree_of({PLANNING: PLAN}), PhaseRules(most, 10))) == is_told


@pytest.mark.parametrize(("auto", "words"), [(True, "the next handoff splits it"), (False, "no handoff splits it")])
def test_e68_the_planned_split_is_shown_and_whether_a_handoff_makes_it(auto: bool, words: str) -> None:
    short = plan_of(("11", "pending"))
    (sentence,) = told(tree_of({PLANNING: PLAN, BUILDING: short}), PhaseRules(LINES - 1, LINES - 2, auto))

    assert sentence.startswith(f".claude/projects/shop/{PLANNING}/plan.md has {LINES} lines, and {LINES - 1} are")
    assert words in sentence
    assert f"{PLANNING}-part1: 4 completed tasks" in sentence
    assert f"{PLANNING}-part2: 6 open tasks" in sentence
    assert f"are the most: phoenixctl phase split {PLANNING} {WHERE}; " in sentence


def test_e68_of_many_parts_five_are_told_and_the_command_stands_before_them() -> None:
    plan = plan_of(*((str(number), "pending") for number in range(1, 101)))
    most = line_count(plan) // 9
    (sentence,) = told(tree_of({PLANNING: plan}), PhaseRules(most, most - 1))

    assert sentence.index("phoenixctl phase split") < sentence.index("-part1")
    assert (sentence.count("-part"), "-part5" in sentence) == (5, True)
    assert re.search(r", and [0-9]+ more\)$", sentence)
    assert len(sentence) < 2048 / 3


def test_e68_no_split_is_planned_of_a_plan_beyond_ten_times_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(*((str(number), "pending") for number in range(1, 101)))
    most = -(-line_count(plan) // 10)
    tree = tree_of({PLANNING: plan})
    assert "-part1" in told(tree, PhaseRules(most, most - 1))[0]
    monkeypatch.setattr(limits, "split", None)
    (sentence,) = told(tree, PhaseRules(most - 1, most - 2))

    assert f"has {line_count(plan)} lines, and {most - 1} are the most: " in sentence
    assert sentence.endswith(f"phoenixctl phase split {PLANNING} {WHERE}")


def test_e68_a_plan_that_cannot_be_split_says_why() -> None:
    (sentence,) = told(tree_of({PLANNING: b"# Phase 1\n" + b"words\n" * 50}), PhaseRules(50, 40))

    assert "are the most: it cannot be split: " in sentence
    assert "lines outside of its tasks" in sentence


def test_e63_e68_a_context_that_is_too_long_is_told_with_the_verb_that_shortens_it() -> None:
    tree = tree_of({PLANNING: plan_of(("1", "pending"))})
    long = replace(tree, files={**tree.files, tree.paths.context(PLANNING): b"words\n" * 51})

    (sentence,) = told(long, PhaseRules(50, 40))

    assert sentence.endswith(
        f"claude.md has 51 lines, and 50 are the most: phoenixctl phase summarise {PLANNING} {WHERE}"
    )
