"""A manifest or a package that is no such file, or holds what leads elsewhere, is refused by name and left as it is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phoenixd.core.rules import PhaseRules
from phoenixd.documents.project import layout, package
from phoenixd.documents.project.checking import check
from phoenixd.documents.project.update import Sources, artifact_publisher
from phoenixd.drivers.files.project import edit_project, read_project
from phoenixd.drivers.files.session_files import read_file
from phoenixd.errors import BadProject, PhoenixdError
from tests.documents.project.projects import NOW, PLANNING, SEED_PACKAGE, plan_of

MANIFEST = f"{layout.PROJECTS}/shop/{PLANNING}/artifacts/manifest.json"
PACKAGE = layout.session_paths("orchestrator-1").package


def link(path: Path, sound: bytes) -> None:
    elsewhere = path.with_name("elsewhere.json")
    elsewhere.write_bytes(sound)
    path.symlink_to(elsewhere)


def large(path: Path, sound: bytes) -> None:
    path.write_bytes(sound + b" " * (100 << 20))


def twice(path: Path, sound: bytes) -> None:
    """With its first key once more."""
    key, value = next(iter(json.loads(sound).items()))
    path.write_bytes(f"{{{json.dumps(key)}: {json.dumps(value)}, ".encode() + sound[1:])


def holding(content: bytes) -> Callable[[Path, bytes], None]:
    def write(path: Path, sound: bytes) -> None:
        path.write_bytes(content)

    return write


def manifest(**changes: Any) -> bytes:
    entry = {"path": f"{layout.PROJECTS}/shop/{PLANNING}/artifacts/a.txt", "size": 1, "task": "1"}
    return json.dumps({"phase": PLANNING, "files": [{**entry, **changes}]}).encode()


SPOILS: dict[str, Callable[[Path, bytes], None]] = {
    "link": link, "FIFO": lambda path, sound: os.mkfifo(path), "100 MB": large,
    "directory": lambda path, sound: path.mkdir(), "nothing": holding(b""), "NUL": holding(b"\0{}"),
    "list": holding(b"[]"), "key twice": twice, "no UTF-8": holding(b"\xff\xfe{}"), "nested": holding(b"[" * 100_000),
}  # fmt: skip
MANIFESTS: dict[str, dict[str, Any]] = {
    "..": {"path": "../../../../etc/passwd"}, "absolute": {"path": "/etc/passwd"}, "size": {"size": -1},
    "sum": {"sha256": "0"},
}  # fmt: skip
PACKAGES: dict[str, dict[str, Any]] = {
    "plan": {"planFiles": {PLANNING: "../../etc/passwd"}}, "artifact": {"artifacts": ["/etc/passwd"]},
    "memory": {"memoryFiles": [".claude/../../x"]}, "context": {"claudeMdFiles": ["a\0b"]},
    "project": {"projectName": "../shop"}, "phase": {"currentPhase": "../phase-01-x"},
}  # fmt: skip


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    phase = tmp_path / layout.PROJECTS / "shop" / PLANNING
    (phase / "artifacts").mkdir(parents=True)
    (phase / "plan.md").write_bytes(plan_of(("1", "completed")))
    (phase / "claude.md").write_bytes(b"words\n")
    (phase / "artifacts/a.txt").write_bytes(b"a")
    (tmp_path / PACKAGE).parent.mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize("spoil", [*SPOILS, *MANIFESTS])
def test_a_spoiled_manifest_is_named_with_a_remedy_and_nobody_writes_over_it(workspace: Path, spoil: str) -> None:
    path = workspace / MANIFEST
    spoiled = SPOILS.get(spoil) or holding(manifest(**MANIFESTS[spoil]))
    spoiled(path, manifest())
    before = os.lstat(path)
    named = [one for one in check(read_project(str(workspace), "shop"), PhaseRules()) if one.path == MANIFEST]

    assert [one.level for one in named] == ["problem"]
    assert named[0].remedy
    with pytest.raises(BadProject, match=r"manifest\.json"):
        edit_project(str(workspace), "shop", lambda tree: artifact_publisher(tree, Sources(now=NOW)))
    after = os.lstat(path)
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (before.st_ino, before.st_size, before.st_mtime_ns)


@pytest.mark.parametrize("spoil", [*SPOILS, *PACKAGES])
def test_a_spoiled_package_is_refused_by_name(workspace: Path, spoil: str) -> None:
    spoiled = SPOILS.get(spoil) or holding(json.dumps({**SEED_PACKAGE, **PACKAGES[spoil]}).encode())
    spoiled(workspace / PACKAGE, json.dumps(SEED_PACKAGE).encode())

    with pytest.raises((PhoenixdError, IsADirectoryError), match=r"handoff-package\.json"):
        package.read(read_file(str(workspace), PACKAGE, 4 << 20), PACKAGE)


def test_what_is_spoiled_here_is_sound_otherwise(workspace: Path) -> None:
    (workspace / MANIFEST).write_bytes(manifest())
    (workspace / PACKAGE).write_text(json.dumps(SEED_PACKAGE))

    assert [one.path for one in check(read_project(str(workspace), "shop"), PhaseRules())].count(MANIFEST) == 0
    assert package.read(read_file(str(workspace), PACKAGE, 4 << 20), PACKAGE).project_name == "my-project"
