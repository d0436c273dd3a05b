"""Locks on directories: the kernel's, so that they end with their holder, and never with a file."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from phoenixd.drivers.files import lock as files_lock
from phoenixd.drivers.files.lock import LOCK, DirectoryLock
from phoenixd.drivers.files.ownership import own
from phoenixd.errors import AlreadyRunning

HOLDER = """
import sys
from phoenixd.drivers.files.lock import DirectoryLock
with DirectoryLock(sys.argv[1]):
    print("held", flush=True)
    input()
"""


def test_one_owner_per_directory(tmp_path: Path) -> None:
    """F-SY-3: the lock is the kernel's, names its living holder, and dies with it however it dies."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"

    with pytest.raises(AlreadyRunning, match=rf"pid {holder.pid}\b"):
        DirectoryLock(tmp_path)
    holder.kill()
    holder.communicate()
    with DirectoryLock(tmp_path), pytest.raises(AlreadyRunning, match=rf"pid {os.getpid()}\b"):
        DirectoryLock(tmp_path)


def test_a_lock_file_that_is_deleted_frees_nothing(tmp_path: Path) -> None:
    with DirectoryLock(tmp_path):
        (tmp_path / LOCK).unlink()
        with pytest.raises(AlreadyRunning):
            DirectoryLock(tmp_path)
        assert not (tmp_path / LOCK).exists(), "the loser makes none"


def test_an_older_version_that_locks_the_file_alone_excludes_and_is_excluded(tmp_path: Path) -> None:
    with DirectoryLock(tmp_path), (tmp_path / LOCK).open("rb+") as older, pytest.raises(BlockingIOError):
        fcntl.flock(older, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with (tmp_path / LOCK).open("rb+") as older:
        fcntl.flock(older, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(AlreadyRunning):
            DirectoryLock(tmp_path)


@pytest.mark.parametrize("code", sorted(files_lock.CANNOT))
def test_where_no_directory_can_be_locked_the_file_does_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """NFS has no descriptor of a directory that flock would take."""
    real = fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        if Path(os.readlink(f"/proc/self/fd/{descriptor}")).is_dir():
            raise OSError(code, os.strerror(code))
        real(descriptor, operation)

    monkeypatch.setattr(files_lock.fcntl, "flock", flock)
    with DirectoryLock(tmp_path), pytest.raises(AlreadyRunning):
        DirectoryLock(tmp_path)


def test_a_file_that_was_replaced_before_it_was_locked_is_not_taken_for_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / LOCK).touch()
    real, replaced = fcntl.flock, []

    def flock(descriptor: int, operation: int) -> None:
        if Path(os.readlink(f"/proc/self/fd/{descriptor}")).is_dir():
            raise OSError(errno.ENOLCK, "")
        real(descriptor, operation)
        if not replaced:
            replaced.append(True)
            (tmp_path / LOCK).unlink()
            (tmp_path / LOCK).touch()

    monkeypatch.setattr(files_lock.fcntl, "flock", flock)
    with DirectoryLock(tmp_path), (tmp_path / LOCK).open("rb+") as named, pytest.raises(BlockingIOError):
        real(named, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_p77_who_holds_a_lock_in_passing_is_waited_for(tmp_path: Path) -> None:
    """A resolve that writes to a slow disk must not keep a daemon from starting, not even before it has signed."""
    state, runtime = tmp_path / "state", tmp_path / "run"
    state.mkdir(mode=0o700)
    holder = DirectoryLock(state, passing=True)
    with pytest.raises(AlreadyRunning):
        own(state, runtime)
    leaving = threading.Timer(0.2, holder.release)
    leaving.start()

    with own(state, runtime, 0.01), pytest.raises(AlreadyRunning, match=rf"pid {os.getpid()}\b"):
        own(state, runtime, 0.01)

    leaving.join()


def test_two_in_passing_have_the_file_one_after_the_other(tmp_path: Path) -> None:
    with DirectoryLock(tmp_path, passing=True), pytest.raises(AlreadyRunning) as refused:
        DirectoryLock(tmp_path, passing=True)
    assert refused.value.passing
