"""plan.md is read by Markdown's own rules and changed line by line: what is not meant keeps its bytes."""

from __future__ import annotations

import difflib
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phoenixd.documents.project import editing
from phoenixd.documents.project.editing import set_status, with_statuses
from phoenixd.documents.project.models import TaskStatus
from phoenixd.documents.project.plan import Plan, read_plan
from phoenixd.documents.project.plan_data import phase_plan
from phoenixd.documents.project.reading import line_count
from phoenixd.errors import BadProject

SEED_FORM = b"""# Phase 1: Planning\r
\r
## Overview\r
A word on Task 9: it is none.\r
\r
## Objectives\r
- One\r
- Two\r
\r
## Tasks\r
\r
### Task 1: Project planning\r
- **Status**: completed  \r
- **Assigned Agent**: planner\r
- **Dependencies**: None\r
- **Artifacts**: `project-brief.json`, notes/b.md\r
- **Description**: plan it\r
\r
```\r
### Task 7: in a fence\r
- Status: blocked\r
```\r
\r
> ### Task 8: quoted\r
> - **Status**: blocked\r
\r
### Task 2: Next\r
- **Status:** In Progress\r
- **Dependencies**: Task 1, phase-01-planning\r
\r
- [ ] a step of it\r
\r
### Task 3: no status\r
some words\r
\r
## Open tasks\r
- [ ] Task 10: a box\r
- [x] a box without a number\r
\r
## Progress\r
- **Completed Tasks**: 0\r
- **Total Tasks**: 9\r
\r
<!--\r
### Task 44: hidden\r
-->\r
the end without a newline"""


def changed_lines(before: Plan, after: Plan) -> list[str]:
    pairs = difflib.ndiff([repr(one) for one in before.lines], [repr(one) for one in after.lines])
    return [one for one in pairs if one[0] in "+-"]


def test_e84_the_seeds_form_is_read_with_crlf_and_written_back_byte_for_byte() -> None:
    plan = read_plan(SEED_FORM, "plan.md")

    assert plan.content == SEED_FORM
    assert [(one.title, one.status) for one in plan.tasks] == [
        ("Task 1: Project planning", "completed"), ("Task 2: Next", "in_progress"), ("Task 3: no status", "pending"),
        ("Task 10: a box", "pending"), ("a box without a number", "completed"),
    ]  # fmt: skip
    first, second = plan.tasks[:2]
    assert (first.agent, first.dependencies, first.artifacts) == ("planner", (), ("project-brief.json", "notes/b.md"))
    assert second.dependencies == ("1", "phase-01-planning")
    assert plan.faults == ()


def test_e70_a_plan_as_data() -> None:
    told = phase_plan("phase-01-planning", read_plan(SEED_FORM, "plan.md"))

    assert (told.phase_number, told.status, told.objectives) == (1, "in_progress", ("One", "Two"))
    assert told.description == "A word on Task 9: it is none."
    assert told.actual_lines == line_count(SEED_FORM)


NO_TASKS = {
    "fence": b"```\n## Task 1: a\n```\n",
    "indented": b"    ## Task 1: a\n",
    "quotation": b"> ## Task 1: a\n",
    "list": b"- ## Task 1: a\n",
    "paragraph": b"Task 1: a\n",
    "comment": b"<!--\n## Task 1: a\n-->\n",
    "html": b"<div>\n## Task 1: a\n</div>\n",
    "no number": b"## Task force: the members\n",
    "box under another heading": b"## Notes\n- [ ] buy milk\n",
    "box in a paragraph": b"## Tasks\ntext [ ] Task 1: a\n",
    "nested box": b"## Tasks\n- list\n  - [ ] Task 1: a\n",
    "open fence": b"~~~\n## Task 1: a\n",
}


@pytest.mark.parametrize("name", NO_TASKS)
def test_what_is_no_task_is_never_taken_for_one(name: str) -> None:
    assert read_plan(NO_TASKS[name], "plan.md").tasks == ()


@pytest.mark.parametrize(
    ("word", "status"),
    [("completed", "completed"), ("Done", "completed"), ("\u2705 Completed", "completed"),
     ("In Progress", "in_progress"), ("not started", "pending"), ("failed", "blocked"), ("BLOCKED", "blocked"),
     ("in-progress", "in_progress")],
)  # fmt: skip
def test_e85_a_persons_words_for_a_status(word: str, status: str) -> None:
    plan = read_plan(f"## Task 1: a\n- **Status**: {word}\n".encode(), "plan.md")

    assert plan.tasks[0].status == status


CASES: dict[str, tuple[str, TaskStatus, list[str]]] = {
    "a line": ("2", "completed", [r"- '- **Status:** In Progress\r\n'", r"+ '- **Status:** completed\r\n'"]),
    "trailing blanks": ("1", "blocked", [r"- '- **Status**: completed  \r\n'", r"+ '- **Status**: blocked  \r\n'"]),
    "no line": ("3", "blocked", [r"+ '- **Status**: blocked\r\n'", r"+ '\r\n'"]),
    "a box": ("10", "completed", [r"- '- [ ] Task 10: a box\r\n'", r"+ '- [x] Task 10: a box\r\n'"]),
    "a box that is blocked": ("10", "blocked", [r"+ '  - **Status**: blocked\r\n'"]),
    "as it stands": ("1", "completed", []),
}


@pytest.mark.parametrize("name", CASES)
def test_an_edit_changes_its_line_alone(name: str) -> None:
    task, status, lines = CASES[name]
    before = read_plan(SEED_FORM, "plan.md")

    after = set_status(before, task, status)
    assert changed_lines(before, after) == lines
    assert after.task(task).status == status
    assert after.content.endswith(b"the end without a newline")


def test_e67_a_completed_task_changes_its_plan_and_its_counts() -> None:
    before = read_plan(SEED_FORM, "plan.md")

    after = with_statuses(before, {"3": ("completed", ""), "1": ("completed", "is so already")})
    assert r"+ '- **Completed Tasks**: 3\r\n'" in changed_lines(before, after)
    assert r"+ '- **Total Tasks**: 5\r\n'" in changed_lines(before, after)


def test_f_ph_7_a_task_that_never_ended_goes_back_with_its_reason() -> None:
    before = read_plan(SEED_FORM, "plan.md")

    after = set_status(before, "2", "pending", "ended after 45 min\n### Task 99: forged \x1b[31m")
    assert after.task("2").status == "pending"
    assert [one.id for one in after.tasks] == [one.id for one in before.tasks]
    assert r"+ '- **Note**: ended after 45 min ### Task 99: forged\r\n'" in changed_lines(before, after)


@pytest.mark.parametrize(
    "quoted", ["> Status: blocked", "> > Status: blocked", "> - Status: blocked", "> > - Status: done"]
)
def test_a_quoted_status_is_not_the_tasks_own(quoted: str) -> None:
    assert read_plan(f"## Task 1: a\n\n{quoted}\n".encode(), "plan.md").tasks[0].status == "pending"


BAD = {
    "NUL": b"# a\0b\n",
    "no UTF-8": b"# \xff\xfe\n",
    "large": b"x" * (3 << 20),
}
FAULTY = {
    "twice": (b"## Task 1: a\n\n## Task 1: b\n", "the task 1 stands here and on line 1"),
    "unknown status": (b"## Task 1: a\n- Status: perhaps\n", "'perhaps' is no status"),
}


@pytest.mark.parametrize("name", BAD)
def test_f_ph_3_a_plan_that_is_no_text_is_refused_by_name(name: str) -> None:
    with pytest.raises(BadProject, match=r"^x/plan\.md was not taken"):
        read_plan(BAD[name], "x/plan.md")


@pytest.mark.parametrize("name", FAULTY)
def test_f_ph_3_a_plan_with_a_fault_is_kept_as_it_is_and_the_fault_named(name: str) -> None:
    content, what = FAULTY[name]

    plan = read_plan(content, "x/plan.md")
    assert what in plan.faults[0].what
    assert plan.faults[0].remedy
    assert plan.content == content
    with pytest.raises(BadProject, match=r"^x/plan\.md, line [23]: .*left as it is"):
        set_status(plan, "1", "completed")


MARKUP = st.lists(
    st.sampled_from(
        ["# A", "## Tasks", "### Task 1: a", "### Task 2: b", "## Task 3", "- Status: done", "  - **Status**: pending",
         "- [ ] Task 4: c", "- [x] free", "* [ ] more", "text", "```", "> q", "---", "", "    code", "<!--", "-->",
         "1. [ ] Task 5: n", "\tTab", "**Status**: blocked", "\u2028", "\x0b"]
    ).flatmap(lambda line: st.sampled_from([f"{line}\n", f"{line}\r\n", f"{line}\r"])),
    max_size=30,
).map("".join)  # fmt: skip


@example("### Task 1: a\n\u2028\n**Status**: blocked\n", "pending", False)
@given(MARKUP, st.sampled_from(["pending", "in_progress", "completed", "blocked"]), st.booleans())
def test_any_edit_of_any_plan_says_what_was_meant_or_is_refused(text: str, status: TaskStatus, noted: bool) -> None:
    plan = read_plan(text.encode(), "plan.md")
    assert plan.content == text.encode()
    if plan.faults:
        return
    for task in plan.tasks:
        try:
            after = set_status(plan, task.id, status, "why" if noted else "")
        except BadProject:
            continue
        assert [(one.id, one.title) for one in after.tasks] == [(one.id, one.title) for one in plan.tasks]
        assert {one.id: one.status for one in after.tasks} == {**{one.id: one.status for one in plan.tasks},
                                                               task.id: status}  # fmt: skip
        removed = [one for one in changed_lines(plan, after) if one[0] == "-"]
        assert len(removed) <= 2 + (not text.endswith(("\n", "\r")))


@given(st.binary(max_size=400))
def test_no_bytes_make_the_reader_fail_otherwise_than_by_name(content: bytes) -> None:
    said = "x/plan.md"
    try:
        assert read_plan(content, "x/plan.md").content == content
    except BadProject as error:
        said = error.message
    assert "x/plan.md" in said


def test_promise_7_a_status_line_of_blanks_holds_up_nobody() -> None:
    """Matching holds the interpreter, and with it the daemon; an agent writes the plan."""
    program = (
        "from phoenixd.documents.project.editing import set_status; "
        "from phoenixd.documents.project.plan import read_plan; "
        "text = '# Tasks\\n\\n## Task 1: One\\n- **Status**: pending' + ' ' * 300_000 + '.\\n'; "
        "print(''.join(set_status(read_plan(text.encode(), 'plan.md'), '1', 'completed').lines)[-30:])"
    )

    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert "- **Status**: completed\n" in told.stdout


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("- **Status**: pending", "- **Status**: completed"),
        ("- Status:pending  \r\n", "- Status: completed  \r\n"),
        ("- Status:   \n", "- Status:   completed\n"),
        ("- Status:", "- Status: completed"),
        ("- status: pending status: pending \t\n", "- status: completed \t\n"),
    ],
)
def test_of_a_status_line_the_word_changes_and_nothing_else(line: str, expected: str) -> None:
    lines = [line]

    editing._say(lines, 0, "completed")

    assert lines == [expected]
