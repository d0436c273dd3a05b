"""The file in which the hook program keeps what the status line was given: an agent's, and anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from phoenixd.documents.status_line import StatusLine
from phoenixd.drivers.evidence import status_lines
from phoenixd.drivers.evidence.status_lines import StatusLines

LINE = b'{"session_id": "s-1", "context_window": {"context_window_size": 200000}}\n'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "hooks").mkdir()
    return tmp_path / "hooks" / "3.status"


def read(place: Path) -> StatusLine | None:
    return StatusLines(lambda agent: place.parent.parent).read("a", 3)


def test_the_newest_of_this_run_is_read_and_no_other_runs(place: Path) -> None:
    assert read(place) is None
    place.with_name("2.status").write_bytes(LINE)
    assert read(place) is None
    place.write_bytes(LINE)
    assert read(place) == StatusLine("s-1", None, 200_000)


def test_a_read_that_falls_into_a_write_is_done_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place.write_bytes(LINE[:20])
    monkeypatch.setattr(status_lines.time, "sleep", lambda seconds: place.write_bytes(LINE))

    assert read(place) == StatusLine("s-1", None, 200_000)


def test_what_stays_unreadable_is_said(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_lines, "PAUSE", 0.0)
    place.write_bytes(b"no json")

    found = read(place)
    assert found is not None
    assert found.problem


def a_link(place: Path) -> None:
    secret = place.parent.parent / "secret"
    secret.write_bytes(LINE)
    place.symlink_to(secret)


@pytest.mark.parametrize("make", [a_link, os.mkfifo, Path.mkdir], ids=["link", "fifo", "directory"])
def test_no_link_is_followed_and_nobody_waits_for_a_fifo(place: Path, make: Callable[[Path], None]) -> None:
    make(place)

    assert read(place) is None


def test_a_giant_costs_no_more_than_a_line(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_lines, "PAUSE", 0.0)
    with place.open("wb") as file:
        file.truncate(1 << 40)

    found = read(place)
    assert found is not None
    assert "64 KiB" in found.problem
