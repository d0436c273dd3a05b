"""The index that is read here is the one that git tells, whatever its version; what only git can read is left to it."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.drivers.git import index as git_index
from phoenixd.drivers.git.index import Entry, Unknown, index_of, read_index, told_entries
from phoenixd.drivers.git.plumbing import Plumbing, PlumbingFailed
from tests.drivers.git.repositories import git, make_repository

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="not run: git is not installed")


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Entries of every kind: links, submodules, conflicts, flags, names of all lengths and bytes."""
    work = make_repository(tmp_path_factory.mktemp("kinds"))
    for name in ("a", "a b", "ä\n\t", "x" * 200, *("/".join(["deep" * 40] * n) + f"/{n}" for n in (3, 12, 20))):
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        os.utime(path, (1, 2))
    git(work, "add", ".")
    git(work, "init", "-q", "inner")
    git(work / "inner", "commit", "-q", "--allow-empty", "-m", "x")
    git(work, "-c", "advice.addEmbeddedRepo=false", "add", "inner")
    git(work, "commit", "-q", "-m", "All kinds")
    git(work, "checkout", "-q", "-b", "other")
    for branch, text in (("other", "theirs"), ("main", "ours")):
        git(work, "checkout", "-q", branch)
        (work / "kept.txt").write_text(text)
        git(work, "commit", "-q", "-a", "-m", branch)
    git(work, "merge", "other", check=False)
    (work / "meant").write_text("later")
    git(work, "add", "--intent-to-add", "meant")
    git(work, "update-index", "--assume-unchanged", "a")
    return work


@pytest.fixture
def repository(every_kind: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(every_kind, tmp_path / "work", symlinks=True))


def told(work: Path) -> list[Entry]:
    return list(told_entries(plumbing(work).output("ls-files", "--stage", "--debug", "-z")))


def plumbing(work: Path) -> Plumbing:
    return Plumbing(str(work), time.monotonic() + 120)


def index(work: Path, object_format: str = "sha1") -> list[Entry]:
    return index_of(plumbing(work), os.fsencode(work), os.fsencode(work / ".git"), object_format)[0]


@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_entries_are_those_that_git_tells(repository: Path, version: int) -> None:
    if version > 2:
        git(repository, "update-index", "--skip-worktree", "edited.txt")
    else:
        git(repository, "reset", "-q", "meant")
    git(repository, "update-index", "--index-version", str(version))
    content = (repository / ".git/index").read_bytes()
    assert content[7] == version

    found = list(read_index(content, 20))

    assert found == told(repository)
    assert {entry.stage for entry in found} == {0, 1, 2, 3}
    assert [entry.path for entry in found if entry.is_left_alone] == [b"a", *([b"edited.txt"] if version > 2 else [])]


def test_a_repository_of_longer_hashes(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    (tmp_path / "f").write_text("x")
    git(tmp_path, "add", "f")

    assert index(tmp_path, "sha256") == told(tmp_path)
    assert len(index(tmp_path, "sha256")[0].blob) == 32


def test_a_repository_without_an_index_has_no_entries(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")

    assert index(tmp_path) == []


@pytest.mark.parametrize("kind", ["split", "sparse", "link", "fifo", "format"])
def test_what_only_git_can_read_is_asked_of_git(
    repository: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = repository / ".git/index"
    if kind == "split":
        git(repository, "update-index", "--split-index")
    elif kind == "sparse":
        repository = make_repository(tmp_path / "sparse")
        path = repository / ".git/index"
        for name in ("kept", "left"):
            (repository / name).mkdir()
            (repository / name / "f").write_text(name)
        git(repository, "add", ".")
        git(repository, "commit", "-q", "-m", "Two directories")
        git(repository, "sparse-checkout", "set", "--cone", "--sparse-index", "kept")
        assert b"sdir" in path.read_bytes()
    elif kind == "link":
        path.rename(repository / "elsewhere")
        path.symlink_to(repository / "elsewhere")
    asked: list[bytes] = []
    monkeypatch.setattr(
        git_index, "told_entries", lambda content, *more: asked.append(content) or told_entries(content, *more)
    )
    if kind == "fifo":
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(PlumbingFailed):
            index_of(Plumbing(str(repository), time.monotonic() + 0.5), b"/", os.fsencode(path.parent), "sha1")
        return

    assert index(repository, "sha1" if kind != "format" else "sha3") == told(repository)
    assert len(asked) == 1


def test_an_index_that_was_cut_is_read_whole_or_not_at_all(repository: Path) -> None:
    content, whole = (repository / ".git/index").read_bytes(), told(repository)
    for end in range(0, len(content), 7):
        try:
            assert list(read_index(content[:end], 20)) == whole
        except (Unknown, PlumbingFailed):
            continue


@pytest.mark.parametrize("version", [2, 4])
def test_an_index_that_claims_more_files_than_it_holds_is_read_by_nobody(
    repository: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four billion entries cost twice the time that a look may take, and git as many entries' memory."""
    claims = b"DIRC" + version.to_bytes(4, "big") + b"\xff" * 4
    (repository / ".git/index").write_bytes(claims + bytes(1 << 20))
    monkeypatch.setattr(Plumbing, "output", lambda *_, **__: pytest.fail("git was asked"))

    with pytest.raises(PlumbingFailed, match="claims more files than it holds"):
        index(repository)


@pytest.mark.parametrize("way", ["read", "told"])
def test_reading_an_index_ends_when_its_time_has(repository: Path, way: str) -> None:
    """However many entries there are, and whatever tells of them."""
    looks = 0

    def require_time() -> None:
        nonlocal looks
        looks += 1
        if looks == 3:
            raise PlumbingFailed("git did not answer in time")

    entry = bytes(40) + b"\x11" * 20 + b"\0\1" + b"a" + bytes(9 - (63 % 8 or 8))
    entry = entry[: (62 + 1 + 8) & ~7]
    many = 5 * git_index.LOOK_AT_TIME_EVERY
    if way == "read":
        content = b"DIRC" + (2).to_bytes(4, "big") + many.to_bytes(4, "big") + entry * many + bytes(20)
        assert len(list(read_index(content, 20))) == many
        entries = read_index(content, 20, None, require_time)
    else:
        content = plumbing(repository).output("ls-files", "--stage", "--debug", "-z")
        entries = told_entries(content * (many // len(told(repository)) + 1), require_time)

    with pytest.raises(PlumbingFailed, match="in time"):
        list(entries)
    assert looks == 3


@given(st.binary(max_size=300), st.sampled_from([2, 3, 4]), st.integers(0, 5))
def test_no_bytes_disturb_the_reading(body: bytes, version: int, count: int) -> None:
    content = b"DIRC" + version.to_bytes(4, "big") + count.to_bytes(4, "big") + body
    try:
        found = list(read_index(content, 20))
    except (Unknown, PlumbingFailed):
        return
    assert len(found) == count
