"""Files that a report names: nothing is followed, nothing but regular files is opened, and a later change is told."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from phoenixd.documents.report.facts import FileSeen
from phoenixd.drivers.files import claimed
from phoenixd.drivers.files.claimed import look_at

EVER = 1 << 40


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "shop"
    (made / "src").mkdir(parents=True)
    (made / "src" / "a.py").write_text("a = 2\n")
    return made


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all files that are opened to be read, and not only held by name."""
    found: list[str] = []
    plain = os.open

    def watched(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if not flags & os.O_PATH:
            found.append(os.readlink(name) if name.startswith("/proc/self/fd/") else name)
        return plain(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(claimed.os, "open", watched)
    return found


def seen(root: Path, path: str, began: float = 0, reported: float = EVER) -> FileSeen:
    return look_at(str(root), [path], began, reported)[path]


@pytest.mark.parametrize("path", ["src/a.py", "./src/../src/a.py", "{root}/src/a.py"])
def test_a_regular_file_is_hashed(root: Path, path: str, opened: list[str]) -> None:
    digest = hashlib.sha256(b"a = 2\n").hexdigest()
    assert seen(root, path.replace("{root}", str(root))) == FileSeen("file", digest, changed=True)
    assert opened == [str(root / "src" / "a.py")]


@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "/dev/zero",
        "/proc/self/environ",
        "~/.ssh/id_rsa",
        "src/../../x",
        "a\0b",
        ".",
        "",
    ],
)
def test_what_leaves_the_workspace_is_not_touched(root: Path, path: str, opened: list[str]) -> None:
    assert seen(root, path).state == "outside"
    assert opened == []


def test_links_fifos_sockets_and_directories_are_not_opened(root: Path, opened: list[str]) -> None:
    (root / "link").symlink_to("/etc/passwd")
    (root / "inner").symlink_to("src")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "fifo")
    states = {
        path: seen(root, path).state for path in ("link", "inner/a.py", "loop", "fifo", "src", "none", "src/a.py/x")
    }
    assert states == {
        "link": "link", "inner/a.py": "link", "loop": "link", "fifo": "special", "src": "directory", "none": "absent",
        "src/a.py/x": "absent",
    }  # fmt: skip
    assert opened == []


def test_a_workspace_behind_a_link_is_the_workspace(root: Path, tmp_path: Path) -> None:
    (tmp_path / "by-link").symlink_to(root)
    found = look_at(
        str(tmp_path / "by-link"), ["src/a.py", f"{root}/src/a.py", f"{tmp_path}/by-link/src/a.py"], 0, EVER
    )
    assert {one.state for one in found.values()} == {"file"}


def test_a_file_that_was_changed_after_the_report_proves_nothing(root: Path) -> None:
    reported = os.stat(root / "src" / "a.py").st_ctime - 10
    assert seen(root, "src/a.py", reported=reported) == FileSeen("file", later=True)
    assert seen(root, "src/b.py", reported=reported) == FileSeen("absent", later=True), "it may be gone since"


def test_a_file_from_before_the_task_was_not_changed_by_it(root: Path) -> None:
    now = time.time()
    assert [seen(root, "src/a.py", began=began).changed for began in (now - 60, now + 1, now + 60)] == [
        True, None, False,
    ]  # fmt: skip


def test_what_is_too_long_is_not_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claimed, "FILE_LIMIT", 3)
    assert seen(root, "src/a.py") == FileSeen("file", None, changed=True)


def test_no_descriptor_is_left_open(root: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    look_at(str(root), ["src/a.py", "none", "/etc/passwd", "src", "src/a.py/x"] * 50, 0, EVER)
    look_at(str(root / "missing"), ["a"], 0, EVER)
    assert len(os.listdir("/proc/self/fd")) == before
