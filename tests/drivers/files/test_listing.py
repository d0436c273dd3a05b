"""The files of a workspace, as an agent may leave it: too deep, too many, and under names that no text holds."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

from phoenixd.documents.project.addendum import Listing, differences
from phoenixd.drivers.files import listing
from phoenixd.drivers.files.listing import DEPTH, hash_files, list_files


def nested(top: Path, depth: int) -> None:
    """Directories below each other; no path is as long as they are deep."""
    place = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=place)
        inner = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(place)


def test_directories_below_each_other_without_end_are_a_gap_and_no_failure(tmp_path: Path) -> None:
    """A handoff came to nothing by them, each time: the look went down as deep as its stack."""
    (tmp_path / "plan.md").write_text("x")
    nested(tmp_path, DEPTH + 2)
    before = len(os.listdir("/proc/self/fd"))
    found = list_files(str(tmp_path), 0.0)
    assert list(found.files) == ["plan.md"]
    assert found.gap == f"the workspace holds more than {DEPTH} directories below each other"
    assert len(os.listdir("/proc/self/fd")) == before


def test_directories_count_as_files_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MOST", 50)
    for number in range(60):
        (tmp_path / f"{number:02}").mkdir()
    told = "the workspace holds more than is looked at within 50 files and directories"
    assert list_files(str(tmp_path), 0.0).gap == told


def test_what_git_and_programs_keep_and_what_is_no_file_is_left_out(tmp_path: Path) -> None:
    for path in ("src/till.py", ".git/HEAD", "node_modules/a/b.js"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("src/till.py")
    (tmp_path / "elsewhere").symlink_to("/etc")
    assert (list(list_files(str(tmp_path), 0.0).files), list_files(str(tmp_path), 0.0).gap) == (["src/till.py"], "")


def test_a_directory_that_may_be_listed_and_not_entered_is_a_gap_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`chmod 444` makes one; root enters all, so that the kernel's word is put in its mouth."""
    (tmp_path / "plan.md").write_text("x")
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "secret.md").touch()
    look = os.stat

    def closed(path: str, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        if path == "secret.md":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return look(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(os, "stat", closed)
    found = list_files(str(tmp_path), 0.0)
    assert list(found.files) == ["plan.md"]
    assert found.gap == "the workspace holds directories that may not be read"


def test_a_name_that_is_no_text_is_told_by_its_bytes(tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))).write_text("x")
    (change,) = differences(Listing(0.0, {}), list_files(str(tmp_path), 0.0), (), "o")
    assert change.path == "\\xff\\xfe"


def test_hashes_are_of_plain_files_within_bounds_and_what_is_not_read_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "FILE_LIMIT", 100)
    monkeypatch.setattr(listing, "WHOLE_LIMIT", 120)
    (tmp_path / "src").mkdir()
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "a.py").write_bytes(b"a")
    (tmp_path / "src" / "large").write_bytes(b"x" * 101)
    (tmp_path / "src" / "most").write_bytes(b"x" * 100)
    (tmp_path / "src" / "no more").write_bytes(b"x" * 50)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("a.py")
    before = len(os.listdir("/proc/self/fd"))

    found = hash_files(str(tmp_path))

    unread = {path for path, digest in found.files.items() if digest is None}
    assert set(found.files) == {"a.py", "src/large", "src/most", "src/no more"}
    assert unread == {"src/large", "src/no more"}
    assert found.files["a.py"] == hashlib.sha256(b"a").hexdigest()
    assert found.hash_of(f"{tmp_path}/a.py", str(tmp_path)) == found.files["a.py"]
    told = {path: found.hash_of(path, str(tmp_path)) for path in ("./new.py", "src/large", "node_modules/a.js", "../b")}
    assert told == {"./new.py": "", "src/large": None, "node_modules/a.js": None, "../b": None}
    assert len(os.listdir("/proc/self/fd")) == before

    monkeypatch.setattr(listing, "MOST", 1)
    assert hash_files(str(tmp_path)).hash_of("new.py", str(tmp_path)) is None, "not all was looked at"
