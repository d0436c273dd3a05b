"""A full disk of an agent's own is found by doctor: the kernel is asked, and no word of the agent's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from phoenixd.doctor_disks import LEAST_ROOM, disk_findings, lacking
from tests.full_disk import fill, small_disk

ROOMY = {
    "f_flag": 0, "f_blocks": 1000, "f_frsize": 4096, "f_bfree": 900, "f_bavail": 900, "f_files": 100, "f_ffree": 90,
    "f_favail": 90,
}  # fmt: skip
FEW = LEAST_ROOM // 4096 - 1


@pytest.mark.parametrize(
    ("changes", "for_root", "for_others"),
    [
        ({}, "", ""),
        ({"f_bavail": 0}, "", "a mebibyte more"),
        ({"f_bfree": FEW, "f_bavail": FEW}, "a mebibyte more", "a mebibyte more"),
        ({"f_bfree": FEW + 1, "f_bavail": FEW + 1}, "", ""),
        ({"f_favail": 0}, "", "one more file"),
        ({"f_ffree": 0, "f_favail": 0}, "one more file", "one more file"),
        # A file system that counts no files has room for them.
        ({"f_files": 0, "f_ffree": 0, "f_favail": 0}, "", ""),
        ({"f_flag": os.ST_RDONLY, "f_bfree": 0, "f_bavail": 0}, "", ""),
        ({"f_blocks": 0, "f_bfree": 0, "f_bavail": 0}, "", ""),
    ],
)
def test_what_a_disk_has_no_room_for(changes: dict[str, int], for_root: str, for_others: str) -> None:
    room = SimpleNamespace(**{**ROOMY, **changes})

    assert lacking(room, is_root=True) == for_root
    assert lacking(room, is_root=False) == for_others


def test_a_full_disk_is_told_once_with_its_path_whatever_lies_on_it(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "4m") as disk:
        home = disk / "home"
        home.mkdir()
        places = {"HOME": str(home), "TMPDIR": str(tmp_path)}
        assert list(disk_findings("a", str(disk), places)) == []
        fill(disk)

        (found,) = disk_findings("a", str(disk), places)
        (of_home,) = disk_findings("a", str(tmp_path), places)

    assert (found.level, found.detail) == ("problem", str(disk))
    assert found.title == "a: the disk of its directory has no room for a mebibyte more"
    assert found.remedy.startswith(f"free some space: df -h {disk}")
    assert of_home.title == "a: the disk of its HOME has no room for a mebibyte more"


@pytest.mark.parametrize("cwd", ["/nowhere/at/all", "relative", ""])
def test_a_place_that_is_not_there_is_no_full_disk(cwd: str) -> None:
    assert list(disk_findings("a", cwd, {})) == []


def test_a_remedy_for_a_full_disk_takes_the_path_as_it_is_and_runs_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent names directories, and a person copies the remedy."""
    directory, ran = tmp_path / "a b; touch ran; $(touch ran)", tmp_path / "ran"
    directory.mkdir()
    (directory / "log").touch()
    monkeypatch.setattr("phoenixd.doctor_disks.lacking", lambda room, *, is_root: "a mebibyte more")

    (found,) = disk_findings("a", str(directory), {})
    command = found.remedy.partition(": ")[2]
    done = subprocess.run(("sh", "-c", command), cwd=tmp_path, capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
    assert not ran.exists()
