"""The branch of a directory, read from git's own files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from phoenixd.drivers.git.branch import branch_of

ME = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")


def git(place: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(place), *ME, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_of_a_repository_a_directory_in_it_a_worktree_and_a_commit(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    git(shop, "init", "-q", "-b", "feature/till")
    git(shop, "commit", "-q", "--allow-empty", "-m", "one")
    below = shop / "a" / "b"
    below.mkdir(parents=True)
    git(shop, "worktree", "add", "-q", str(tmp_path / "side"), "-b", "side")
    assert (branch_of(str(shop)), branch_of(str(below))) == ("feature/till", "feature/till")
    assert branch_of(str(tmp_path / "side")) == "side"
    git(shop, "checkout", "-q", "--detach")
    assert branch_of(str(shop)) == f"detached at {git(shop, 'rev-parse', 'HEAD')[:12]}"


def test_what_an_agent_makes_of_its_git_directory_raises_nothing(tmp_path: Path) -> None:
    assert branch_of(str(tmp_path / "not there")) in (None, branch_of(str(tmp_path)))
    for number, head in enumerate(
        (b"", b"ref: refs/heads/", b"\xff" * 3000, b"ref: refs/heads/a\x1b[2Jb\n", b"x" * 10**6)
    ):
        place = tmp_path / f"r{number}"
        (place / ".git").mkdir(parents=True)
        (place / ".git" / "HEAD").write_bytes(head)
        assert branch_of(str(place)) is None
    place = tmp_path / "fifo"
    (place / ".git").mkdir(parents=True)
    os.mkfifo(place / ".git" / "HEAD")
    assert branch_of(str(place)) is None
    place = tmp_path / "link"
    (place / ".git").mkdir(parents=True)
    (place / ".git" / "HEAD").symlink_to("/etc/passwd")
    assert branch_of(str(place)) is None
    place = tmp_path / "file"
    place.mkdir()
    (place / ".git").write_text("gitdir: /proc/self\n")
    assert branch_of(str(place)) is None
    assert branch_of("a\0b") is None
