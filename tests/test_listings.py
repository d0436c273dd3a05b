"""What a glob of a CLI's home finds, without holding all that lies there."""

from __future__ import annotations

import glob
import os
import tracemalloc
from pathlib import Path

import pytest

from phoenixd.harness.arguments import literal
from phoenixd.listings import matching, newest_matching


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home as of Codex, in a directory whose name has what a glob reads otherwise."""
    top = tmp_path / "h[o]m*e"
    for day in ("2026/11/28", "2026/11/29", "2025/01/01", "2026/.hidden/30"):
        (top / day).mkdir(parents=True)
        for name in ("rollout-1-abc.jsonl", "rollout-2-abc.jsonl", "rollout-1-xyz.jsonl", ".rollout-1-abc.jsonl"):
            (top / day / name).write_text(day)
    (top / "2026/11/notes").write_text("no directory")
    (top / "2026/12").symlink_to(top / "2026/11")
    return top


@pytest.mark.parametrize(
    "tail",
    [
        "*/*/*/rollout-*-abc.jsonl", "*/11/*/rollout-?-xyz.jsonl", "2026/11/2[89]/*", "*/*/*/nothing", "2026/11/29",
        "*/none/*",
    ],
)  # fmt: skip
def test_it_finds_what_glob_finds_and_what_comes_last_by_name_first(home: Path, tail: str) -> None:
    pattern = f"{literal(str(home))}/{tail}"

    found = matching(pattern, 100)

    assert sorted(found) == sorted(glob.glob(pattern))
    directories = [os.path.dirname(one) for one in found]
    assert directories == sorted(directories, reverse=True)


def test_no_more_are_given_than_are_wanted_nor_more_names_looked_at_than_may_be(home: Path) -> None:
    pattern = f"{literal(str(home))}/*/*/*/rollout-*.jsonl"

    assert len(matching(pattern, 2)) == 2
    assert matching(pattern, 100, looks=3) == []
    assert matching("/nonexistent/*/x\0y", 1) == []


def test_of_many_the_newest_are_given_by_when_they_were_written(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number}.json").touch()
        os.utime(tmp_path / f"{number}.json", (number % 7, number % 7))

    (tmp_path / "99.json").symlink_to(tmp_path / "0.json")

    found = newest_matching(f"{literal(str(tmp_path))}/*.json", 5)

    assert {int(Path(one).stem) % 7 for one in found} == {6, 5}
    assert len(found) == 5


def test_names_that_nobody_asked_for_are_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """glob held each name of a directory, in which there may be millions of transcripts."""

    class Entry:
        def __init__(self, name: str) -> None:
            self.name = name

    class Crowd:
        def __enter__(self) -> Crowd:
            return self

        def __exit__(self, *_: object) -> None: ...

        def __iter__(self):  # type: ignore[no-untyped-def]
            return (Entry(f"session-{number:08}-other.jsonl") for number in range(20_000))

    monkeypatch.setattr("os.scandir", lambda place: Crowd())
    tracemalloc.start()
    try:
        assert matching("/home/tmp/session-*-mine.jsonl", 64) == []
        assert tracemalloc.get_traced_memory()[1] < 200_000
    finally:
        tracemalloc.stop()
