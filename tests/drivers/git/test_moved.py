"""A repository that appears, or disappears, while its work is looked at: the look is that of one moment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.drivers.git import survey as surveying
from phoenixd.drivers.git.plumbing import PlumbingFailed
from phoenixd.drivers.git.work import LOOKS, WorkUnreadable, survey
from tests.drivers.git.repositories import IDENTITY, git, make_repository

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="not run: git is not installed")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    repository = make_repository(tmp_path)
    (repository / "edited.txt").write_text("dirty from before\n")
    return repository


def meanwhile(patch: pytest.MonkeyPatch, do: Callable[[], object]) -> list[int]:
    """Have something happen in each look, once it is known whether there is a repository. Returns one for each look."""
    looks: list[int] = []
    locate = surveying.locate

    def located(directory: bytes, deadline: float) -> object:
        found = locate(directory, deadline)
        looks.append(len(looks))
        do()
        return found

    patch.setattr(surveying, "locate", located)
    return looks


def look(root: Path) -> str:
    return survey([str(root)]).fingerprint


@pytest.mark.parametrize("disappears", [True, False])
def test_a_look_in_which_the_repository_appears_or_disappears_is_taken_again(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disappears: bool
) -> None:
    here, there = repository / ".git", tmp_path / "git-away"
    if not disappears:
        here, there = there, here
        (repository / ".git").rename(tmp_path / "git-away")
    looks = meanwhile(monkeypatch, lambda: here.rename(there) if here.exists() else None)
    found = look(repository)
    assert len(looks) == 2
    assert found.startswith("files:" if disappears else "git:")
    assert found == look(repository)


def test_a_repository_that_comes_and_goes_all_the_time_is_looked_at_no_longer_than_that(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = repository / ".git", tmp_path / "git-away"
    looks = meanwhile(monkeypatch, lambda: os.rename(here, there) if here.exists() else os.rename(there, here))
    with pytest.raises((WorkUnreadable, PlumbingFailed)):
        look(repository)
    assert len(looks) == LOOKS


def test_what_cannot_be_read_where_nothing_was_moved_is_looked_at_once(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = meanwhile(monkeypatch, lambda: (repository / ".git/index").write_bytes(b"no index"))
    with pytest.raises((WorkUnreadable, PlumbingFailed)):
        look(repository)
    assert len(looks) == 1


@pytest.mark.parametrize(
    ("written", "made"), [(0.3, []), (0.9, ["commit"]), (0.0, ["commit"])], ids=["before it", "after it", "cannot tell"]
)
def test_a_commit_in_the_second_of_a_look_that_saw_no_repository_counts_if_its_log_was_written_afterwards(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: float, made: list[str]
) -> None:
    """A reflog tells whole seconds, and a repository that only comes back holds nothing that is new."""
    second = 1_800_000_000
    monkeypatch.setitem(IDENTITY, "GIT_COMMITTER_DATE", f"{second} +0000")
    git(repository, "commit", "-q", "-a", "-m", "made in that second")
    os.utime(repository / ".git/logs/HEAD", (second + written, second + written))
    (repository / ".git").rename(tmp_path / "git-away")
    seen = survey([str(repository)]).survey
    (tmp_path / "git-away").rename(repository / ".git")

    found = survey([str(repository)], since=replace(seen, at=second + 0.6))

    assert [deed.kind for deed in found.deeds] == made
