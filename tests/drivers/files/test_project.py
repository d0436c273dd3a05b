"""A project's directory on a real disk: read without following anything, changed only where it is as it was read."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from phoenixd.core.rules import PhaseRules
from phoenixd.documents.project import layout, revision
from phoenixd.documents.project.beginning import begin
from phoenixd.documents.project.jobs import JOBS
from phoenixd.documents.project.models import Manifest
from phoenixd.documents.project.publishing import Made
from phoenixd.documents.project.reading import read_document
from phoenixd.documents.project.splitting import split
from phoenixd.documents.project.tree import Changes, Copy, Tree
from phoenixd.documents.project.update import Sources, artifact_publisher
from phoenixd.drivers.files import project as driver
from phoenixd.drivers.files import project_reader
from phoenixd.drivers.files.project import edit_project, projects_of, read_project
from phoenixd.errors import BadProject
from tests.documents.project.projects import NOW, PLANNING, plan_of

RULES = PhaseRules(max_lines=40, warn_lines=30)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with a project `shop` that a person made."""
    root = tmp_path / layout.PROJECTS / "shop" / PLANNING
    (root / "artifacts" / "task-1" / "deep").mkdir(parents=True)
    (root / "plan.md").write_bytes(plan_of(("1", "completed"), ("2", "pending")).replace(b"\n", b"\r\n") + b"\n\n")
    (root / "claude.md").write_bytes(b"\xef\xbb\xbfwords of mine  \n\tno newline at the end")
    (root / "artifacts" / "task-1" / "deep" / "a.bin").write_bytes(b"\0\xff")
    (root.parent / "orchestrator-state.json").write_bytes(b'{"projectName":"shop",\r\n  "mine": [1,2]}')
    return tmp_path


def everything(workspace: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(workspace)): path.read_bytes() for path in sorted(workspace.rglob("*")) if path.is_file()
    }


def place(workspace: Path) -> Path:
    return workspace / layout.PROJECTS / "shop" / PLANNING


def test_e84_a_project_made_by_hand_is_adopted_byte_for_byte(workspace: Path) -> None:
    before = everything(workspace)

    tree = read_project(str(workspace), "shop")
    assert projects_of(str(workspace)) == ("shop",)
    assert {path: content for path, content in before.items() if not path.endswith("a.bin")} == dict(tree.files)
    assert [(one.path.rsplit("/", 3)[1:], one.size) for one in tree.artifacts] == [(["task-1", "deep", "a.bin"], 2)]
    assert tree.unread == ()
    edit_project(str(workspace), "shop", lambda tree: begin(tree, (), NOW))
    after = everything(workspace)
    assert {path: after[path] for path in before} == before
    assert all(path.startswith(layout.SCHEMAS) for path in after.keys() - before.keys())


def test_a_split_on_disk_is_undone_to_the_same_files(workspace: Path) -> None:
    before = everything(workspace)

    split_up = edit_project(str(workspace), "shop", lambda tree: split(tree, PLANNING, RULES, NOW).changes)
    assert split_up.phases == (PLANNING, f"{PLANNING}-part1", f"{PLANNING}-part2")
    assert (place(workspace) / "archive" / "001-split" / "plan.md").read_bytes() == before[
        f"{layout.PROJECTS}/shop/{PLANNING}/plan.md"
    ]
    edit_project(str(workspace), "shop", lambda tree: revision.undo(tree, PLANNING).changes)
    assert everything(workspace) == before
    assert sorted(os.listdir(place(workspace))) == ["artifacts", "claude.md", "plan.md"]
    assert sorted(os.listdir(place(workspace).parent)) == ["orchestrator-state.json", PLANNING]


@pytest.mark.parametrize("writes", range(8))
def test_a_split_that_a_crash_cut_short_can_be_undone(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    before, done = everything(workspace), 0
    real = driver.replace_unchanged

    def dying(*arguments: object) -> bool:
        nonlocal done
        done += 1
        if done > writes:
            raise KeyboardInterrupt
        return real(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(driver, "replace_unchanged", dying)
        with pytest.raises(KeyboardInterrupt):
            edit_project(str(workspace), "shop", lambda tree: split(tree, PLANNING, RULES, NOW).changes)
    tree = read_project(str(workspace), "shop")
    if revision.newest(tree, PLANNING) is not None:
        edit_project(str(workspace), "shop", lambda tree: revision.undo(tree, PLANNING).changes)
    present = everything(workspace)
    assert {path: present[path] for path in before} == before
    assert all("/archive/" in path for path in present.keys() - before.keys())


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hostname")


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def large(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(100 << 20)


def hard_link(path: Path) -> None:
    os.link(path, path.with_name("other"))


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("spoil", [link, fifo, large, hard_link, directory])
@pytest.mark.parametrize("name", ["plan.md", "claude.md", "../orchestrator-state.json"])
def test_a_file_that_is_none_is_not_read_and_named(workspace: Path, name: str, spoil: object) -> None:
    assert callable(spoil)
    path = place(workspace) / name
    spoil(path)

    tree = read_project(str(workspace), "shop")
    shown = str(path.resolve().relative_to(workspace)) if spoil is not link else None
    named = [one for one in tree.unread if one.path.endswith(path.name)]
    assert len(named) == 1
    assert shown is None or named[0].path == shown
    assert named[0].remedy
    assert "/proc/" not in named[0].why
    assert named[0].path not in tree.files
    with pytest.raises(BadProject):
        JOBS[0][1](tree, Sources(now=NOW)) if name == "plan.md" else _overwrite(workspace, named[0].path)


def _overwrite(workspace: Path, path: str) -> None:
    edit_project(str(workspace), "shop", lambda tree: Changes({path: b"new"}))


def test_artifacts_that_are_no_files_are_named_and_large_ones_have_no_hash(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_reader, "HASH_LIMIT", 10)
    artifacts = place(workspace) / "artifacts"
    (artifacts / "large").write_bytes(b"x" * 11)
    os.mkfifo(artifacts / "fifo")
    (artifacts / "out").symlink_to("/etc")
    (artifacts / "new\nline").write_bytes(b"")
    os.close(os.open(os.fsencode(artifacts) + b"/\xff", os.O_CREAT | os.O_WRONLY))

    tree = read_project(str(workspace), "shop")
    assert {one.path.rsplit("/", 1)[-1]: one.sha256 is None for one in tree.artifacts} == {
        "a.bin": False,
        "large": True,
    }
    assert len(tree.unread) == 4
    assert not any(one.path.startswith("/etc") for one in tree.artifacts)


def test_the_hashes_of_one_reading_are_bounded_and_the_manifest_says_which_lack(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_reader, "HASH_TOTAL", 10)
    for number in range(4):
        (place(workspace) / "artifacts" / f"part-{number}").write_bytes(b"x" * 4)

    tree = read_project(str(workspace), "shop")
    found = {one.path.rsplit("/", 1)[-1]: one for one in tree.artifacts}
    assert {name for name, one in found.items() if one.sha256 is not None} == {"part-0", "part-1", "a.bin"}
    assert sum(one.size for one in found.values()) == 18
    written = next(iter(artifact_publisher(tree, Sources(now=NOW)).writes.values()))
    assert written.count(b'"notHashed": "too large') == 2
    plain = read_project(str(workspace), "shop", hashed=False).artifacts
    assert all(one.sha256 is None and one.not_hashed is None for one in plain)
    monkeypatch.setattr(project_reader, "HASH_SECONDS", 0.0)
    assert all(one.sha256 is None and one.not_hashed for one in read_project(str(workspace), "shop").artifacts)


def test_archives_are_read_from_the_newest_revision_on_and_no_further_than_their_bound(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_reader, "ARCHIVE_TOTAL", 15)
    for number in (8, 9, 10, 998, 999, 1000):
        revision = place(workspace) / "archive" / f"{number:03d}-split"
        revision.mkdir(parents=True)
        (revision / "plan.md").write_bytes(b"x" * 10)

    tree = read_project(str(workspace), "shop")
    assert {path.split("/")[-2] for path in tree.files if "/archive/" in path} == {"1000-split", "999-split"}
    assert [one.path.rsplit("/", 1)[-1] for one in tree.unread] == ["998-split"]


def test_promise_7_plans_of_holes_fill_no_memory_and_are_named(workspace: Path) -> None:
    """An orchestrator may have its own project listed, and makes as many phases as it likes."""
    schemas = workspace / layout.SCHEMAS
    schemas.mkdir(parents=True)
    for number in range(40):
        phase = place(workspace).with_name(f"phase-{number + 10}-x")
        phase.mkdir()
        for path in (phase / "plan.md", phase / "claude.md", schemas / f"{number}.schema.json"):
            path.touch()
            os.truncate(path, 2 << 20)

    tree = read_project(str(workspace), "shop")

    assert sum(map(len, tree.files.values())) <= 64 << 20
    assert len(tree.phases) == 41
    assert len(tree.unread) >= 40
    assert {"more than 64 MiB of plans and the like are not read"} == {one.why for one in tree.unread}
    assert tree.files[tree.paths.plan(PLANNING)]


@pytest.mark.parametrize("part", [".claude", ".claude/projects", ".claude/projects/shop"])
def test_a_link_above_the_project_leads_nowhere(workspace: Path, tmp_path: Path, part: str) -> None:
    target = tmp_path / "elsewhere"
    (workspace / part).rename(target)
    (workspace / part).symlink_to(target)

    with pytest.raises(BadProject, match=f"^{part} was not entered: it is a link"):
        read_project(str(workspace), "shop")


def test_a_phase_that_is_a_link_is_named(workspace: Path) -> None:
    (place(workspace).parent / "phase-02-x").symlink_to(place(workspace))

    tree = read_project(str(workspace), "shop")
    assert tree.phases == (PLANNING,)
    assert [one.path for one in tree.unread] == [f"{layout.PROJECTS}/shop/phase-02-x"]


def test_a_phase_that_is_renamed_under_us_is_not_made_anew(workspace: Path) -> None:
    renamed = place(workspace).with_name("phase-01-other")

    def rename_and_split(tree: Tree) -> Changes:
        place(workspace).rename(renamed)
        return split(tree, PLANNING, RULES, NOW).changes

    with pytest.raises(BadProject, match="is not there any more: it was renamed or removed"):
        edit_project(str(workspace), "shop", rename_and_split)
    assert not place(workspace).exists()
    assert sorted(os.listdir(renamed)) == ["artifacts", "claude.md", "plan.md"]


def test_an_edit_of_another_hand_is_not_lost(workspace: Path) -> None:
    plan = place(workspace) / "plan.md"

    def edit_meanwhile(tree: Tree) -> Changes:
        plan.write_bytes(b"# mine\n")
        return Changes({f"{layout.PROJECTS}/shop/{PLANNING}/plan.md": b"# yours\n"})

    with pytest.raises(BadProject, match="changed by another hand meanwhile"):
        edit_project(str(workspace), "shop", edit_meanwhile)
    assert plan.read_bytes() == b"# mine\n"


def test_x29_two_processes_do_not_change_a_project_at_once(workspace: Path) -> None:
    held = os.open(place(workspace).parent, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(BadProject, match="another process changes"):
            edit_project(str(workspace), "shop", lambda tree: Changes({f"{layout.PROJECTS}/shop/x": b""}))
    finally:
        os.close(held)
    edit_project(str(workspace), "shop", lambda tree: begin(tree, (), NOW))


def test_e13_memory_of_this_projects_sessions_is_listed(workspace: Path) -> None:
    for session, project in (("orchestrator-a", "shop"), ("orchestrator-b", "mall")):
        root = workspace / layout.SESSIONS / session
        (root / "memory" / "deep").mkdir(parents=True)
        (root / "memory" / "deep" / "patterns.md").write_text("use tabs")
        (root / "session.json").write_text(f'{{"sessionId": "{session}", "projectName": "{project}"}}')

    assert read_project(str(workspace), "shop").memory == (
        ".claude/orchestrators/orchestrator-a/memory/deep/patterns.md",
    )


def test_a_project_that_is_not_there_is_empty_and_reading_makes_nothing(tmp_path: Path) -> None:
    assert read_project(str(tmp_path), "shop").is_empty
    assert projects_of(str(tmp_path)) == ()
    assert os.listdir(tmp_path) == []
    with pytest.raises(BadProject, match="cannot be looked into"):
        read_project(str(tmp_path / "none"), "shop")


def copied(workspace: Path, source: Path, path: str = "task-1/t1/a.txt") -> Changes:
    root = f"{layout.PROJECTS}/shop/{PLANNING}/artifacts"
    content = source.read_bytes()
    return Changes(copies={f"{root}/{path}": Copy(str(source), len(content), sha256(content).hexdigest())})


def test_e9_a_copy_is_a_new_file_with_the_bytes_of_its_source(
    workspace: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source = tmp_path_factory.mktemp("state") / "a.txt"
    source.write_bytes(b"\0made" * 700_000)
    after = edit_project(str(workspace), "shop", lambda tree: copied(workspace, source))

    target = place(workspace) / "artifacts/task-1/t1/a.txt"
    assert target.read_bytes() == source.read_bytes()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert sorted(one.name for one in target.parent.iterdir()) == ["a.txt"]
    assert any(one.path.endswith("task-1/t1/a.txt") and one.size == 3_500_000 for one in after.artifacts)


def left_out(tree: Tree) -> list[str]:
    return [one.path.rpartition("/artifacts/")[2] for one in tree.left_out]


@pytest.mark.parametrize("kind", ["file", "link", "fifo", "directory"])
def test_e9_a_copy_replaces_nothing_is_left_out_and_named(
    workspace: Path, tmp_path_factory: pytest.TempPathFactory, kind: str
) -> None:
    state = tmp_path_factory.mktemp("state")
    source = state / "a.txt"
    source.write_bytes(b"made")
    taken = place(workspace) / "artifacts/task-1/t1"
    taken.mkdir(parents=True)
    (taken / "a.txt").write_bytes(b"mine")
    if kind != "file":
        spoil = {"link": link, "fifo": fifo, "directory": directory}[kind]
        spoil(taken / "a.txt")
    before = os.lstat(taken / "a.txt")

    after = edit_project(str(workspace), "shop", lambda tree: copied(workspace, source))
    assert left_out(after) == ["task-1/t1/a.txt"]
    assert os.lstat(taken / "a.txt").st_ino == before.st_ino
    assert kind != "file" or (taken / "a.txt").read_bytes() == b"mine"
    assert os.listdir(taken) == ["a.txt"]


def test_e9_a_copy_follows_no_link_above_it(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    state = tmp_path_factory.mktemp("state")
    source = state / "a.txt"
    source.write_bytes(b"made")
    (place(workspace) / "artifacts/task-2").symlink_to(state)

    after = edit_project(str(workspace), "shop", lambda tree: copied(workspace, source, "task-2/b.txt"))
    assert left_out(after) == ["task-2/b.txt"]
    assert sorted(one.name for one in state.iterdir()) == ["a.txt"]


@pytest.mark.parametrize("kind", ["link", "fifo", "gone", "hard_link", "grown", "shorter", "other", "directory"])
def test_e9_what_is_not_the_file_that_was_noted_is_left_out_and_the_others_go_with_their_manifest(
    workspace: Path, tmp_path_factory: pytest.TempPathFactory, kind: str
) -> None:
    outputs = tmp_path_factory.mktemp("state")
    for name in ("a.txt", "b.txt"):
        (outputs / name).write_bytes(b"made")
    files = [
        Made(PLANNING, "1", "t1", name, next(iter(copied(workspace, outputs / name).copies.values())))
        for name in ("a.txt", "b.txt")
    ]
    spoiled = outputs / "a.txt"
    spoils: dict[str, Callable[[Path], None]] = {
        "link": link, "fifo": fifo, "gone": Path.unlink, "hard_link": hard_link, "directory": directory,
    }  # fmt: skip
    contents = {"grown": b"made and more", "shorter": b"mad", "other": b"mode"}
    spoils[kind](spoiled) if kind in spoils else spoiled.write_bytes(contents[kind])

    sources = Sources(now=NOW, made=tuple(files))
    after = edit_project(str(workspace), "shop", lambda tree: artifact_publisher(tree, sources))
    assert left_out(after) == ["task-1/t1/a.txt"]
    assert os.listdir(place(workspace) / "artifacts/task-1/t1") == ["b.txt"]
    manifest = read_document(Manifest, after.files[after.paths.manifest(PLANNING)], "")
    assert [one.path.rpartition("/")[2] for one in manifest.files] == ["a.bin", "b.txt"]
    assert manifest.published == ("t1",)
    again = edit_project(str(workspace), "shop", lambda tree: artifact_publisher(tree, sources))
    assert (again.left_out, dict(again.files)) == ((), dict(after.files)), "it is told once"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE])
@pytest.mark.parametrize("function", ["copy_new", "make", "below"])
def test_e9_a_fault_of_the_host_is_none_of_the_file(
    workspace: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, code: int, function: str
) -> None:
    source = tmp_path_factory.mktemp("state") / "a.txt"
    source.write_bytes(b"made")
    real_open = os.open

    def refusing(*_arguments: object) -> bool:
        raise OSError(code, os.strerror(code))

    def open_(path: Any, *arguments: Any, **others: Any) -> int:
        if path == "t1" and function == "below":
            raise OSError(code, os.strerror(code))
        return real_open(path, *arguments, **others)

    if function == "below":
        monkeypatch.setattr(os, "open", open_)
    else:
        monkeypatch.setattr(driver, function, refusing)
    with pytest.raises((OSError, BadProject)):
        edit_project(str(workspace), "shop", lambda tree: copied(workspace, source))


def test_of_a_directory_with_millions_of_names_some_are_looked_at_and_what_is_needed(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent makes as many as it likes, and a handoff must not hold them all."""
    monkeypatch.setattr(project_reader, "MOST_ENTRIES", 5)
    phase = place(workspace)
    for number in range(100):
        (phase / f"{number:03}.txt").touch()
        (phase.parent / f"other-{number:03}").touch()
    tree = read_project(str(workspace), "shop")

    assert {f"{layout.PROJECTS}/shop/{PLANNING}/plan.md", f"{layout.PROJECTS}/shop/{PLANNING}/claude.md"} <= set(
        tree.files
    )
    assert f"{layout.PROJECTS}/shop/orchestrator-state.json" in tree.files
    assert [one.why for one in tree.unread if one.path.endswith(PLANNING)] == [
        "it has more than 5 files, and not all of them are looked at"
    ]
    assert len(tree.others) <= 6
