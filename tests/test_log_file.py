"""F-ST-13: the daemon's log grows for months, and is rotated; a file that a hand took away is begun anew."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.log_file import LogFile, written_by_us
from phoenixd.logs import Lines

LARGEST = 1000
LINE = "x" * 99


class Daemon:
    """What writes lines to a file that somebody else opened, as phoenixctl does."""

    def __init__(self, path: Path) -> None:
        self.output = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.stream = os.fdopen(os.dup(self.output), "w")
        self.fds = (self.output, self.stream.fileno())
        self.lines = Lines(self.stream)
        file = written_by_us(path, self.fds, LARGEST)
        assert file is not None
        self.file = file
        self.lines.tend = file.tend

    def says(self, count: int, line: str = LINE) -> None:
        for _ in range(count):
            self.lines.msg(line)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "phoenixd.log"


@pytest.fixture
def daemon(path: Path) -> Iterator[Daemon]:
    daemon = Daemon(path)
    yield daemon
    daemon.stream.close()
    os.close(daemon.output)


def test_f_st_13_a_log_that_grows_for_months_is_rotated_and_loses_no_newer_line(path: Path, daemon: Daemon) -> None:
    for number in range(995):
        daemon.says(1, f"{number:099}")
    kept = path.with_name("phoenixd.log.1")
    assert sorted(path.parent.iterdir()) == [path, kept]
    assert path.stat().st_size < LARGEST
    assert kept.stat().st_size == LARGEST
    newest = [int(line) for line in (kept.read_text() + path.read_text()).splitlines()]
    assert newest == list(range(980, 995))
    assert all(one.stat().st_mode & 0o777 == 0o600 for one in (path, kept))
    assert {os.fstat(fd).st_ino for fd in daemon.fds} == {path.stat().st_ino}, "what Python and its libraries print"


def test_a_log_that_was_large_before_this_daemon_is_rotated_too(path: Path) -> None:
    path.write_text(f"{LINE}\n" * 5000)
    daemon = Daemon(path)
    daemon.says(2)
    assert path.read_text() == f"{LINE}\n"
    daemon.stream.close()
    os.close(daemon.output)


@pytest.mark.parametrize("taken", ["removed", "moved away", "replaced"])
def test_a_log_that_a_hand_or_logrotate_took_away_is_begun_anew(path: Path, daemon: Daemon, taken: str) -> None:
    daemon.says(1, "before")
    if taken == "removed":
        path.unlink()
    else:
        path.rename(path.with_name("aside"))
    if taken == "replaced":
        path.touch(0o600)
    daemon.says(1, "the line by which it shows")
    daemon.says(1, "after")
    assert path.read_text() == "after\n"


@pytest.mark.parametrize("trap", ["link", "fifo", "directory", "no directory"])
def test_what_stands_in_the_logs_place_hangs_nothing_and_no_line_is_lost(
    path: Path, daemon: Daemon, trap: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    aside = tmp_path_factory.mktemp("aside") / "log"
    path.rename(aside)
    victim = aside.with_name("victim")
    victim.touch()
    match trap:
        case "link":
            path.symlink_to(victim)
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case _:
            path.parent.rmdir()
    daemon.says(20)
    assert victim.read_text() == ""
    assert len(aside.read_text().splitlines()) == 20
    assert daemon.lines.dropped == 0
    path.parent.mkdir(exist_ok=True)


@pytest.mark.parametrize("trap", ["link", "fifo", "directory", "kept directory", "no directory"])
def test_a_log_that_cannot_be_begun_anew_says_why_and_what_helps(path: Path, daemon: Daemon, trap: str) -> None:
    """The remedy is typed, and it is well again."""
    kept = path.with_name("phoenixd.log.1")
    assert daemon.file.tend() is None
    daemon.says(2)
    blocked = kept if trap == "kept directory" else path
    if blocked == path:
        path.unlink()
    match trap:
        case "link":
            path.symlink_to("victim")
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "kept directory":
            kept.mkdir()
            daemon.says(20)
        case _:
            path.parent.rmdir()
    problem = daemon.file.tend()
    assert problem is not None
    assert problem.startswith(f"{path} cannot be begun anew (")
    assert daemon.file.tend() == problem, "the same, for it is told once"
    if trap == "no directory":
        assert problem.endswith(f"look with: ls -ld {path.parent}; df {path.parent}")
        path.parent.mkdir()
    else:
        remedy = problem.partition("): ")[2]
        assert remedy == f"mv {blocked} {blocked}.aside"
        subprocess.run(shlex.split(remedy), check=True)
    assert daemon.file.tend() is None
    daemon.says(1, "well again")
    assert path.read_text() == "well again\n"


def test_a_log_that_leads_elsewhere_is_left_alone(path: Path, tmp_path: Path) -> None:
    """As under systemd, or where an operator sends the daemon's output to a file of his own."""
    elsewhere = os.open(tmp_path / "other", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    assert written_by_us(path, (elsewhere,)) is None
    path.touch()
    assert written_by_us(path, (elsewhere,)) is None
    log = os.open(path, os.O_WRONLY | os.O_APPEND)
    assert written_by_us(path, (log, elsewhere)) is None
    assert isinstance(written_by_us(path, (log,)), LogFile)
    os.close(log)
    os.close(elsewhere)
