"""A directory that an agent has filled is removed whole, and nothing outside of it."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.drivers.files import removal
from phoenixd.drivers.files.removal import remove_tree

DEEPER_THAN_CALLS = 1100
"""Directories below each other: more than Python calls itself, and than a path may name."""


@pytest.fixture(name="left", autouse=True)
def _left(tmp_path: Path) -> Iterator[None]:
    """What a test that fails leaves is too deep for pytest."""
    yield
    subprocess.run(["rm", "-rf", tmp_path / "filled"], check=True)


def nest(place: Path, depth: int = DEEPER_THAN_CALLS) -> None:
    """Make directories below each other, with a file in the last one."""
    place.mkdir(parents=True, exist_ok=True)
    here = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(depth):
        os.mkdir("nested", dir_fd=here)
        below = os.open("nested", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)


def test_no_tree_is_too_deep_to_be_removed(tmp_path: Path) -> None:
    nest(tmp_path / "filled")
    remove_tree(tmp_path / "filled")
    assert os.listdir(tmp_path) == []


def test_a_deep_tree_takes_two_descriptors(tmp_path: Path) -> None:
    nest(tmp_path / "filled", 300)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 50, hard))
    try:
        remove_tree(tmp_path / "filled")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert os.listdir(tmp_path) == []


def test_what_links_lead_to_stays(tmp_path: Path) -> None:
    outside, filled = tmp_path / "outside", tmp_path / "filled"
    outside.mkdir()
    (outside / "precious").touch()
    nest(filled, 3)
    (filled / "link").symlink_to(outside)
    (filled / "nested" / "link").symlink_to(outside)
    (filled / "nested" / "nested" / "file-link").symlink_to(outside / "precious")
    remove_tree(filled)
    assert os.listdir(tmp_path) == ["outside"]
    assert (outside / "precious").exists()


def test_a_link_or_a_file_in_the_place_of_the_directory_is_refused_and_stays(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious").touch()
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "file").touch()
    for name in ("link", "file"):
        with pytest.raises(NotADirectoryError):
            remove_tree(tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == ["file", "link", "outside"]
    assert (tmp_path / "outside" / "precious").exists()


def test_many_directories_of_the_same_names_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at a directory takes some of its names; what is moved up takes the place of nothing."""
    monkeypatch.setattr(removal, "AT_ONCE", 2)
    filled = tmp_path / "filled"
    for path in ("a/a/a/a", "a/b/a", "b/a/b", "b/b/a", "c/a/a/b"):
        (filled / path).mkdir(parents=True)
        (filled / path / "file").touch()
        (filled / path / "empty").mkdir()
    remove_tree(filled)
    assert os.listdir(tmp_path) == []


def test_a_directory_that_is_filled_meanwhile_ends_the_removal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "MOST", 5)
    filled = tmp_path / "filled"
    filled.mkdir()
    for number in range(6):
        (filled / str(number)).touch()
    with pytest.raises(OSError, match="more than 5"):
        remove_tree(filled)
