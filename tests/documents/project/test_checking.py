"""What is wrong with a project is named with its remedy; what is well is not touched."""

from __future__ import annotations

import dataclasses

import pytest

from phoenixd.core.rules import PhaseRules
from phoenixd.documents.project import graph, memory
from phoenixd.documents.project.beginning import begin, take_apart
from phoenixd.documents.project.checking import Finding, check, outside
from phoenixd.documents.project.layout import STANDARD_PHASES
from phoenixd.documents.project.memory import Provenance
from phoenixd.documents.project.plan import read_plan
from phoenixd.documents.project.tree import Changes, Tree, Unread
from phoenixd.errors import BadProject
from tests.documents.project.projects import BUILDING, NOW, PLANNING, encoded, plan_of, tree_of

RULES = PhaseRules()


def findings(tree: Tree) -> dict[str, Finding]:
    return {one.path.split("projects/shop/")[-1]: one for one in check(tree, RULES)}


def sound() -> Tree:
    state = encoded({"projectName": "shop", "currentPhase": PLANNING})
    return tree_of({PLANNING: plan_of(("1", "completed")), BUILDING: plan_of(("2", "pending"))}, state=state)


def changed(path: str, content: bytes) -> Tree:
    return sound().after(Changes({f".claude/projects/shop/{path}": content}))


def test_e2_a_sound_project_has_no_findings_and_so_has_one_that_was_just_begun() -> None:
    assert check(sound(), RULES) == ()
    begun = Tree("shop").after(begin(Tree("shop"), STANDARD_PHASES, NOW, "Build a shop."))
    assert check(begun, RULES) == ()
    assert begun.phases == STANDARD_PHASES
    assert b"Build a shop." in begun.files[begun.paths.context(STANDARD_PHASES[0])]
    assert not begin(begun, (), NOW).writes, "what is there stays as it is"


@pytest.mark.parametrize("name", ["plan.md", "claude.md"])
def test_e7_e8_a_phase_without_its_plan_or_its_context_is_a_problem_and_is_given_one(name: str) -> None:
    path = f".claude/projects/shop/{PLANNING}/{name}"
    lacking = sound().after(Changes(removes=(path,)))

    (found,) = [one for one in check(lacking, RULES) if one.path == path]
    assert (found.level, found.what) == ("problem", "it is not there")
    assert path in begin(lacking, (), NOW).writes


@pytest.mark.parametrize("name", ["plan.md", "claude.md"])
@pytest.mark.parametrize(("lines", "level"), [(2699, None), (2700, "warning"), (3000, "warning"), (3001, "problem")])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_f_ph_1_x18_e62_and_e63_3000_lines_pass_and_3001_do_not(
    name: str, lines: int, level: str | None, newline: bytes
) -> None:
    found = findings(changed(f"{PLANNING}/{name}", (b"w" + newline) * lines)).get(f"{PLANNING}/{name}")

    assert (found.level if found else None) == level
    if found is not None:
        assert found.remedy.startswith("phoenixctl phase s")


def test_f_ph_5_a_cycle_is_named_and_what_waits_for_it_is_not_ready() -> None:
    first = plan_of(("1", "pending"), ("2", "pending")).replace(b"- Description of 1", b"- **Dependencies**: Task 2")
    tree = sound().after(
        Changes({sound().paths.plan(PLANNING): first.replace(b"- Description of 2", b"- Depends on: 7")})
    )
    second = plan_of(("7", "pending"), ("8", "pending")).replace(
        b"- Description of 7", b"- Depends on: phase-01-planning"
    )
    tree = tree.after(Changes({tree.paths.plan(BUILDING): second}))

    found = findings(tree)[f"{PLANNING}/plan.md"]
    assert found.what.startswith(
        f"tasks wait for each other: {PLANNING} 1 -> {PLANNING} 2 -> {BUILDING} 7 -> {PLANNING} 1"
    )
    assert [task.id for task in graph.ready(tree.plans(), BUILDING)] == ["8"]


def test_e86_dependencies_are_kept_in_order_and_an_unknown_one_holds_its_task() -> None:
    text = plan_of(("1", "completed"), ("2", "pending"), ("3", "pending"), ("4", "pending"))
    text = text.replace(b"- Description of 2", b"- **Dependencies**: Task 1").replace(
        b"- Description of 3", b"- Depends on: 2"
    )
    plans = {PLANNING: read_plan(text.replace(b"- Description of 4", b"- Depends on: Task 44"), "plan.md")}

    assert [task.id for task in graph.ready(plans, PLANNING)] == ["2"]
    assert graph.unknown(plans) == (((PLANNING, "4"), "44"),)
    assert graph.cycle(plans) == ()


def test_a_long_chain_of_dependencies_is_no_cycle_and_breaks_nothing() -> None:
    text = b"".join(b"## Task %d: a\n- Depends on: %d\n" % (number, number + 1) for number in range(1, 1500))

    assert graph.cycle({PLANNING: read_plan(text + b"## Task 1500: end\n", "plan.md")}) == ()


def test_f_ph_10_names_that_only_capitals_tell_apart_are_told() -> None:
    found = check(changed(f"{PLANNING}/CLAUDE.md", b"x"), RULES)
    assert {one.level for one in found} == {"warning"}
    assert any("only capitals tell it" in one.what for one in found)


BAD = {
    "no plan": (f"{PLANNING}/plan.md", None, "it is not there"),
    "no context": (f"{PLANNING}/claude.md", None, "it is not there"),
    "no state": ("orchestrator-state.json", None, "it is not there"),
    "NUL": (f"{PLANNING}/plan.md", b"# a\0\n", "zero byte"),
    "twice": (f"{PLANNING}/plan.md", plan_of(("1", "pending"), ("1", "pending")), "the task 1 stands here"),
    "state": ("orchestrator-state.json", b"{", "no JSON"),
    "state of another": ("orchestrator-state.json", b'{"projectName": "other"}', "it names the project other"),
    "phase gone": ("orchestrator-state.json", b'{"projectName": "shop", "currentPhase": "phase-09-x"}', "not there"),
    "manifest up": (
        f"{PLANNING}/artifacts/manifest.json",
        encoded({"phase": PLANNING, "files": [{"path": "../../x", "size": 1}]}), "no path within the workspace",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_named_with_a_remedy(name: str) -> None:
    path, content, what = BAD[name]
    full = f".claude/projects/shop/{path}"
    change = Changes({full: content}) if content is not None else Changes(removes=(full,))

    found = findings(sound().after(change))[path]
    assert what in found.what
    assert found.level == "problem"
    assert found.remedy


def test_what_was_not_read_is_told_once_by_name() -> None:
    path = f".claude/projects/shop/{PLANNING}/plan.md"
    without = sound().after(Changes(removes=(path,)))
    tree = dataclasses.replace(without, unread=(Unread(path, "it is a symbolic link"),), others=("phase-x",))

    found = check(tree, RULES)
    assert [(one.path, one.level) for one in found] == [
        (path, "problem"), (".claude/projects/shop/phase-x", "warning")
    ]  # fmt: skip


def test_f_ph_6_what_a_worker_wrote_outside_of_its_phase_is_told() -> None:
    root = ".claude/projects/shop"
    inside, plan, other = (
        f"{root}/{PLANNING}/artifacts/a", f"{root}/{PLANNING}/plan.md", f"{root}/{BUILDING}/artifacts/a",
    )  # fmt: skip

    assert outside(PLANNING, (inside, plan, other), "shop") == (plan, other)


@pytest.mark.parametrize(
    "path", ["../x.md", "/etc/x.md", "a/../b.md", "x.md", ".claude/orchestrators/orchestrator-b/memory/x.md",
             ".claude/orchestrators/orchestrator-a/memory/x.sh", ".claude/orchestrators/orchestrator-a/memory/../x.md"]
)  # fmt: skip
def test_f_ph_8_a_memory_file_outside_of_its_memory_is_refused(path: str) -> None:
    assert memory.check_path(".claude/orchestrators/orchestrator-a/memory/x.md", "a")
    with pytest.raises(BadProject):
        memory.check_path(path, "a")


def test_f_ph_8_and_9_what_is_shared_has_no_secret_and_can_be_taken_back_by_its_source() -> None:
    def clean(text: str) -> str:
        return text.replace("s3cret", "[gone]")

    one = memory.shared(b"use tabs, s3cret\n", "p", Provenance("shop", "a", NOW, ""), clean)
    again = memory.shared(one, "p", Provenance("mall", "b", NOW, ""), clean)
    files = {"1.md": one, "2.md": again, "3.md": b"by hand\n", "4.md": one.replace(b"tabs", b"rm -rf /")}

    assert b"s3cret" not in one
    assert memory.of_source(files, "shop") == ("1.md",)
    assert memory.of_source(files, "mall") == ("2.md",)
    assert again.count(b"<!-- shared by phoenixd") == 1


MONOLITH = b"Intro\r\n\r\n# Phase 1: Planning it\r\n## Task 1: a\r\n\r\n# Phase 2 - Build / ship!\r\n- x\r\n"
MONOLITH += b"```\r\n# Phase 9: no\r\n```\r\n## Task 2: b"


def test_e91_one_long_plan_becomes_phases_and_no_byte_is_lost() -> None:
    changes = take_apart(Tree("shop"), MONOLITH, "plan.md", NOW)
    tree = Tree("shop").after(changes)

    assert tree.phases == ("phase-01-planning-it", "phase-02-build-ship")
    assert b"".join(tree.files[tree.paths.plan(phase)] for phase in tree.phases) == MONOLITH
    assert check(tree, RULES) == ()
    with pytest.raises(BadProject, match="is there already"):
        take_apart(tree, MONOLITH, "plan.md", NOW)
    with pytest.raises(BadProject, match="two phases that would be"):
        take_apart(Tree("shop"), b"# Phase 1: a\n# Phase 1: a\n", "plan.md", NOW)
    assert Tree("s").after(take_apart(Tree("s"), b"no headings\n", "plan.md", NOW)).phases == ("phase-01-plan",)
