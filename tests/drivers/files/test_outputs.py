"""What a worker left is taken in, whatever it has put in the place of the copies."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.drivers.files.outputs import gather
from tests.drivers.files.test_removal import nest


@pytest.fixture(name="target")
def _target(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "answer.txt").write_text("42")
    yield tmp_path / "outputs"
    # What a test that fails leaves is too deep for pytest.
    subprocess.run(["rm", "-rf", tmp_path / "outputs"], check=True)


def require_taken(target: Path) -> None:
    assert [one.path for one in gather(target.parent / "out", target).taken] == ["answer.txt"]
    assert (target / "answer.txt").read_text() == "42"
    assert not target.is_symlink()


def test_copies_of_an_earlier_collection_give_way(target: Path) -> None:
    require_taken(target)
    (target / "more.txt").touch()
    require_taken(target)
    assert not (target / "more.txt").exists()


def test_a_file_in_the_place_of_the_copies_gives_way(target: Path) -> None:
    target.write_text("in the way")
    require_taken(target)


def test_a_link_in_the_place_of_the_copies_gives_way_and_what_it_leads_to_stays(target: Path) -> None:
    precious = target.parent / "elsewhere" / "precious"
    precious.parent.mkdir()
    precious.touch()
    target.symlink_to(precious.parent)
    require_taken(target)
    assert precious.exists()
    assert [one.name for one in precious.parent.iterdir()] == ["precious"]


def test_directories_below_each_other_in_the_place_of_the_copies_give_way(target: Path) -> None:
    nest(target)
    require_taken(target)
