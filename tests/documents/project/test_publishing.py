"""What workers left stands in the artifacts of the task's phase, a directory for each task, once (E9, E55)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.rules import PhaseRules
from phoenixd.documents.project import publishing
from phoenixd.documents.project.models import Manifest
from phoenixd.documents.project.publishing import Made
from phoenixd.documents.project.reading import read_document
from phoenixd.documents.project.splitting import split
from phoenixd.documents.project.tree import Artifact, Changes, Copy, Tree
from phoenixd.documents.project.update import Sources, artifact_publisher
from phoenixd.errors import BadProject
from tests.documents.project.projects import BUILDING, NOW, PLANNING, plan_of, tree_of

ROOT = ".claude/projects/shop"


def made(run: str, task: str, path: str = "a.txt", phase: str = BUILDING, size: int = 1) -> Made:
    return Made(phase, task, run, path, Copy(f"/state/tasks/{run}/outputs/{path}", size, "0" * 64))


def project() -> Tree:
    plans = {
        PLANNING: plan_of(("1", "completed")),
        BUILDING: plan_of(("4", "completed"), ("5", "completed"), ("6", "pending"), title="Phase 2: Building"),
    }
    return tree_of(plans)


def publish(tree: Tree, *files: Made) -> Changes:
    return artifact_publisher(tree, Sources(now=NOW, made=files))


def manifest(tree: Tree, phase: str = BUILDING) -> Manifest:
    path = tree.paths.manifest(phase)
    return read_document(Manifest, tree.files[path], path)


def test_e9_e55_outputs_stand_below_the_directory_of_their_task_and_in_the_manifest_of_its_phase() -> None:
    files = (made("t1", "4"), made("t1", "4", "src/b.txt"), made("t2", "1", phase=PLANNING))
    changes = publish(project(), *files)

    assert {path: one.source for path, one in changes.copies.items()} == {
        f"{ROOT}/{BUILDING}/artifacts/task-4/t1/a.txt": "/state/tasks/t1/outputs/a.txt",
        f"{ROOT}/{BUILDING}/artifacts/task-4/t1/src/b.txt": "/state/tasks/t1/outputs/src/b.txt",
        f"{ROOT}/{PLANNING}/artifacts/task-1/t2/a.txt": "/state/tasks/t2/outputs/a.txt",
    }
    after = project().after(changes)
    assert [(one.path.rsplit("/", 1)[-1], one.task) for one in manifest(after).files] == [
        ("a.txt", "4"),
        ("b.txt", "4"),
    ]
    assert manifest(after).published == ("t1",)
    assert manifest(after, PLANNING).published == ("t2",)


def test_e9_two_runs_for_one_task_keep_both_their_files() -> None:
    changes = publish(project(), made("t1", "4"), made("t3", "4"))

    assert [path.rsplit("/artifacts/")[1] for path in changes.copies] == ["task-4/t1/a.txt", "task-4/t3/a.txt"]


def test_e9_what_was_published_is_not_published_again_also_after_a_person_has_removed_it() -> None:
    tree = project()
    tree = tree.after(publish(tree, made("t1", "4")))
    assert not publish(tree, made("t1", "4"))
    removed = replace(tree, artifacts=())
    changes = publish(removed, made("t1", "4"))

    assert changes.copies == {}
    assert manifest(removed.after(changes)).files == ()


def test_e9_a_crash_before_the_manifest_was_written_leads_to_the_same() -> None:
    whole = publish(project(), made("t1", "4"), made("t1", "4", "b.txt"))
    path, copy = next(iter(whole.copies.items()))
    torn = project().after(Changes(copies={path: copy}))

    assert torn.after(publish(torn, made("t1", "4"), made("t1", "4", "b.txt"))) == project().after(whole)


def test_e9_of_a_phase_that_was_split_since_the_outputs_go_with_the_task_and_once() -> None:
    tree = project()
    before = tree.after(publish(tree, made("t1", "4")))
    apart = before.after(split(before, BUILDING, PhaseRules(14, 12), NOW).changes)
    (new,) = publish(apart, made("t1", "4"), made("t2", "5")).copies

    assert new == f"{ROOT}/{BUILDING}-part1/artifacts/task-5/t2/a.txt"


@pytest.mark.parametrize(
    "path", ["../../plan.md", "/etc/passwd", "a\nb", "a\\b", "./a", "x" * 1100], ids=lambda path: repr(path[:10])
)
def test_e9_a_name_that_no_project_may_hold_is_left_with_the_report_and_the_others_go(path: str) -> None:
    changes = publish(project(), made("t1", "4", path), made("t1", "4", "good.txt"))

    assert [one.rsplit("/", 1)[-1] for one in changes.copies] == ["good.txt"]
    assert [one.path for one in changes.left_out] == [f"{ROOT}/{BUILDING}/artifacts/task-4/t1/{path[:200]}"]


@pytest.mark.parametrize(
    "path",
    [".git/config", "src/.claude/settings.json", ".codex/config.toml", ".gemini/a", "deep/CLAUDE.md", "Agents.md",
     "GEMINI.md", "a/.GIT/hooks/pre-commit", "CLAUDE.local.md", "AGENTS.override.md"],
)  # fmt: skip
def test_e9_a_worker_plants_nothing_that_git_or_a_cli_loads(path: str) -> None:
    changes = publish(project(), made("t1", "4", path), made("t1", "4", "my-claude.md"), made("t1", "4", ".gitignore"))

    assert [one.rsplit("/", 1)[-1] for one in changes.copies] == ["my-claude.md", ".gitignore"]
    assert [one.path for one in changes.left_out] == [f"{ROOT}/{BUILDING}/artifacts/task-4/t1/{path}"]
    assert "loads what is called" in changes.left_out[0].why


@pytest.mark.parametrize("task", ["9", "../4", "4/..", ""])
def test_e9_a_task_that_no_plan_has_publishes_nothing(task: str) -> None:
    assert not publish(project(), made("t1", task))


def test_e9_one_handoff_publishes_so_much_and_the_next_one_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "MOST_BYTES", 10)
    files = (made("t1", "4", size=50), made("t2", "5", size=9), made("t3", "5", size=1), made("t4", "6", size=1))
    tree, runs = project(), []
    for _ in range(4):
        tree = tree.after(publish(tree, *files))
        runs.append(manifest(tree).published)

    assert runs == [("t1",), ("t1", "t2", "t3"), ("t1", "t2", "t3", "t4"), ("t1", "t2", "t3", "t4")]


def test_a_manifest_that_is_none_is_told_and_nothing_is_published() -> None:
    tree = project()
    with pytest.raises(BadProject):
        publish(tree.after(Changes({tree.paths.manifest(BUILDING): b"[]"})), made("t1", "4"))


@pytest.mark.parametrize("bound", ["files", "bytes"])
def test_e9_a_run_that_the_manifest_could_not_list_is_left_out_and_named_and_the_others_go(bound: str) -> None:
    """What its own reader would refuse ends every handoff behind it."""
    tree, artifacts = project(), f"{ROOT}/{BUILDING}/artifacts"
    name = "x" if bound == "files" else "deep/" * 150 + "x"
    there = 19_995 if bound == "files" else 4_300
    known = tuple(Artifact(f"{artifacts}/{name}{number}", 1, "0" * 64) for number in range(there))
    tree = replace(tree, artifacts=known)
    tree = tree.after(publish(tree))
    runs = [*(made("t1", "4", f"{name}{number}") for number in range(300)), made("t2", "5")]
    changes = publish(tree, *runs)

    assert list(changes.copies) == [f"{artifacts}/task-5/t2/a.txt"]
    assert [one.path for one in changes.left_out] == [f"{artifacts}/task-4/t1"]
    after = tree.after(changes)
    assert manifest(after).published == ("t2",)
    again = publish(after, *runs)
    assert ([one.path for one in again.left_out], again.copies) == ([f"{artifacts}/task-4/t1"], {})


def test_e28_a_manifest_that_would_pass_its_limits_is_not_written_and_named() -> None:
    tree, artifacts = project(), f"{ROOT}/{BUILDING}/artifacts"
    names = (f"{artifacts}/{'deep/' * 150}x{number}" for number in range(5_000))
    changes = publish(replace(tree, artifacts=tuple(Artifact(one, 1, "0" * 64) for one in names)), made("t1", "4"))

    assert (dict(changes.writes), dict(changes.copies)) == ({}, {})
    assert [one.path for one in changes.left_out] == [f"{artifacts}/task-4/t1", f"{artifacts}/manifest.json"]
