"""What is taken of a program that words a project's papers: words within bounds, and no facts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phoenixd.core.rules import PhaseRules
from phoenixd.documents.project.drafting import accepted, material, papers
from phoenixd.documents.project.tree import Tree
from phoenixd.documents.project.update import Sources
from phoenixd.documents.seal import END_KEY, HEAD_KEY, Seal
from phoenixd.errors import BadProject
from tests.documents.project.projects import BUILDING, NOW, PLANNING, plan_of, tree_of

PLAN = "# Phase 1\n\n## Tasks\n\n### Task 1: Ask\n- **Status**: completed\n\n### Task 2: Draw\n- **Status**: pending\n"


def tree() -> Tree:
    return tree_of({PLANNING: PLAN.encode(), BUILDING: plan_of(("7", "pending"))})


PATH, CONTEXT = tree().paths.plan(PLANNING), tree().paths.context(PLANNING)


def sources(**more: Any) -> Sources:
    return Sources(NOW, clean=lambda text: text.replace("hunter2", "[redacted]"), **more)


def answered(files: Any) -> str:
    return json.dumps({"files": files})


def test_e65_the_program_is_given_this_phase_alone_and_what_the_jobs_would_write() -> None:
    told = json.loads(material(tree(), sources(), "it was no JSON"))
    assert set(told["files"]) == set(told["update"]) == {PATH, CONTEXT} == set(papers(tree()))
    assert told["files"][PATH] == PLAN
    assert "Current State" in told["update"][CONTEXT]
    assert told["refused"] == "it was no JSON"


def test_words_are_taken_without_secrets() -> None:
    worded = PLAN.replace("# Phase 1\n", "# Phase 1\n\nThe till of hunter2 comes first.\n")
    changes = accepted(tree(), answered({PATH: worded, CONTEXT: "# Context\n\nVAT is odd.\n"}), sources())
    assert b"The till of [redacted] comes first." in changes.writes[PATH]
    assert changes.writes[CONTEXT] == b"# Context\n\nVAT is odd.\n"
    assert not accepted(tree(), answered({PATH: PLAN}), sources())


def test_an_answer_without_its_beginning_is_refused_by_its_seal_and_one_without_a_seal_is_whole() -> None:
    """A program that exits with 0 says that its answer is whole; where it asks a CLI, that may hold the last part."""
    seal = Seal("a1b2c3", "d4e5f6")
    asked = json.loads(material(tree(), sources(), seal=seal))["task"]
    assert "a1b2c3" not in asked
    assert "made of a1b and 2c3" in asked
    files = {CONTEXT: "# Context\n\nVAT is odd.\n"}
    whole = json.dumps({HEAD_KEY: seal.head, "files": files, END_KEY: seal.end})
    last_part = json.dumps({"files": files, END_KEY: seal.end})

    assert accepted(tree(), whole, sources(), seal) == accepted(tree(), answered(files), sources(), seal)
    with pytest.raises(BadProject, match="its beginning is missing"):
        accepted(tree(), last_part, sources(), seal)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("I have done it.", "no JSON object"),
        ("[]", "no JSON object"),
        ('{"files": []}', "no JSON object"),
        (answered({".claude/projects/shop/../../etc/passwd": "x"}), "none of the files"),
        (answered({tree().paths.plan(BUILDING): "x"}), "none of the files"),
        (answered({tree().paths.state: "{}"}), "none of the files"),
        (answered({PATH: ""}), "empty"),
        (answered({PATH: 7}), "empty"),
        (answered({PATH: PLAN + "\0"}), "zero byte"),
        (answered({CONTEXT: "a\n" * 3001}), "3001 lines"),
        (answered({PATH: PLAN.replace("pending", "completed")}), "same tasks: Task 2: Draw"),
        (answered({PATH: PLAN.replace("completed", "pending")}), "same tasks: Task 1: Ask"),
        (answered({PATH: PLAN + "\n### Task 3: Invented\n"}), "same tasks: Task 3: Invented"),
        (answered({PATH: PLAN.split("### Task 2")[0]}), "same tasks: Task 2: Draw"),
        (answered({PATH: PLAN.replace("Draw", "Draw it")}), "same tasks"),
        (answered({PATH: PLAN + "\n### Task 2: Twice\n"}), "line"),
        (answered({CONTEXT: "<!-- phoenixd writes what stands below, at each handoff -->\n"}), "has lost a line"),
    ],
)  # fmt: skip
def test_everything_else_is_refused_with_the_reason(answer: str, why: str) -> None:
    with pytest.raises(BadProject, match=why):
        accepted(tree(), answer, sources(rules=PhaseRules()))
