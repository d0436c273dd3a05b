"""A run that ends, or whose turn fails, on a full disk: the shim says which one, by the kernel's count and no words."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.full_disk import fill, small_disk
from tests.shim.pane import Daemon
from tests.shim.posting import Poster

SHIM = Path(__file__).parents[2] / "phoenixd/shim"
ROOM = "8M"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk with blanks", ROOM) as mount:
        yield mount


@pytest.fixture
def disks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The shim's modules know each other by bare names."""
    monkeypatch.syspath_prepend(str(SHIM))
    import disks  # type: ignore[import-not-found]

    yield disks
    for name in ("disks", "records"):
        sys.modules.pop(name, None)


def order(**places: str) -> Any:
    return SimpleNamespace(cwd=b"/", environment={name.encode(): path.encode() for name, path in places.items()})


def test_an_end_tells_which_disks_of_the_run_are_full(daemon: Daemon, disk: Path) -> None:
    fill(disk)
    exited = daemon.run_to_end(["sh", "-c", "echo work > result.txt || exit 3"], cwd=str(disk))

    assert (exited["code"], exited["full_disks"]) == (3, ["cwd"])
    assert daemon.pane.record("exit.json")["full_disks"] == ["cwd"], "also for a daemon that was not there"


def test_an_end_on_a_disk_with_room_says_nothing_of_disks(daemon: Daemon, disk: Path) -> None:
    exited = daemon.run_to_end(["sh", "-c", "exit 3"], cwd=str(disk))

    assert exited["code"] == 3
    assert "full_disks" not in exited
    assert "full_disks" not in daemon.pane.record("exit.json")


def test_a_disk_without_room_for_one_more_file_is_full(disks: Any, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", ROOM, inodes=8) as mount:
        assert disks.full(order(HOME=str(mount))) == []
        for number in range(7):
            (mount / str(number)).touch()
        assert disks.full(order(HOME=str(mount))) == ["home"]


def test_what_is_mounted_later_is_known(disks: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disks, "OF_THIS_HOST", disks.OF_THIS_HOST - {b"tmpfs"})
    disks.look()
    with small_disk(tmp_path / "disk", ROOM) as mount:
        fill(mount)
        assert disks.full(order(HOME=str(mount))) == [], "as if it were of the network"


def test_each_place_of_a_run_is_looked_at(disks: Any, disk: Path) -> None:
    assert disks.full(order(HOME=str(disk), TMPDIR=str(disk)), str(disk)) == []
    fill(disk)
    assert disks.full(order(HOME=str(disk), TMPDIR=str(disk)), str(disk)) == ["home", "state", "tmp"]
    (disk / "filler").unlink()
    assert disks.full(order(HOME=str(disk), TMPDIR=str(disk)), str(disk)) == []


def test_a_disk_of_the_network_is_never_asked_for_it_may_hang(
    disks: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        r"22 21 0:40 / /net\040work rw - nfs4 server:/export rw" "\n"
        "23 22 0:41 / /net\\040work/here rw - tmpfs tmpfs rw\n"
    )  # fmt: skip
    monkeypatch.setattr(disks, "MOUNTS", str(mounts))
    asked: list[bytes] = []
    monkeypatch.setattr(disks, "_is_full", lambda path: asked.append(path) or True)

    found = disks.full(order(HOME="/net work/me", TMPDIR="/var/tmp"), "/net work/here/state")

    assert found == ["cwd", "tmp"]
    assert asked == [b"/", b"/var/tmp"], "the way to a disk of this host below the network's may hang too"


def test_a_link_to_a_disk_of_the_network_is_not_followed(
    disks: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "net/me").mkdir(parents=True)
    (tmp_path / "home").symlink_to("net")
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "near").symlink_to(tmp_path / "./home/../own")
    (tmp_path / "far").symlink_to("own")
    (tmp_path / "own").mkdir()
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"21 1 8:1 / / rw - ext4 /dev/sda1 rw\n22 21 0:40 / {tmp_path}/net rw - nfs4 server:/export rw\n")
    monkeypatch.setattr(disks, "MOUNTS", str(mounts))
    asked: list[bytes] = []
    monkeypatch.setattr(disks, "_is_full", lambda path: asked.append(path) or True)

    for place in ("home/me", "round/me", "near"):
        assert disks.full(order(HOME=f"{tmp_path}/{place}")) == ["cwd", "tmp"]
    assert disks.full(order(HOME=f"{tmp_path}/far/me")) == ["cwd", "home", "tmp"]


def test_a_turn_that_fails_tells_which_disks_are_full_and_an_agent_cannot_say_so_itself(
    daemon: Daemon, disk: Path
) -> None:
    daemon.start(["sleep", "1000"], cwd=str(disk))
    with Poster(daemon.pane) as posts:
        posts.post("stop-failure", {"error": "odd", "full_disks": ["home"]})
        assert "full_disks" not in daemon.expect("hook")["payload"]
        fill(disk)
        posts.post("stop-failure", {"error": "odd", "full_disks": ["home"]})
        assert daemon.expect("hook")["payload"]["full_disks"] == ["cwd"]
