"""The agent's runtime directory: held by a lock for as long as the shim lives, and found again where a hand took it.

The path leads to it, and so does the descriptor. Where the two differ, the directory was removed, moved or replaced;
then what the path leads to now is locked in its stead, unless another shim holds that.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time

FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LOOKERS_PATIENCE, LOOK_EVERY = 10.0, 0.001
"""Seconds for which those are waited for who hold the directory to see whether a shim does, and between two tries."""


class Place:
    """Made of a directory that exists; raises OSError, and BlockingIOError where another process holds it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fd = _hold(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, LOOKERS_PATIENCE)

    def regain(self) -> None:
        """Hold what the path leads to now, made anew where nothing does; raises OSError as the constructor does.

        The runtime directory itself is never made: whose it is, a daemon decides.
        """
        if self._is_held():
            return
        above = os.path.dirname(self.path)
        if os.path.isdir(os.path.dirname(above)):
            _make(above)
            _make(self.path)
        fd = _hold(self.path, FLAGS)
        try:
            found = os.fstat(fd)
            if found.st_uid != os.geteuid():
                raise PermissionError(f"{self.path} belongs to user {found.st_uid}")
            os.fchmod(fd, 0o700)
        except OSError:
            os.close(fd)
            raise
        # Under the same number: what was told it goes on.
        os.dup2(fd, self.fd, inheritable=False)
        os.close(fd)

    def inside(self, name: str) -> str:
        """A short path of a file in the directory that is held, wherever that lies."""
        return f"/proc/self/fd/{self.fd}/{name}"

    def leads_to(self, name: str, file: tuple[int, int] | None) -> bool:
        """Whether that file still stands in the directory under that name."""
        return file is not None and file == identity(name, self.fd)

    def _is_held(self) -> bool:
        try:
            found = os.stat(self.path, follow_symlinks=False)
        except FileNotFoundError:
            return False
        held = os.fstat(self.fd)
        return stat.S_ISDIR(found.st_mode) and (found.st_dev, found.st_ino) == (held.st_dev, held.st_ino)


def identity(name: str, directory: int) -> tuple[int, int] | None:
    """What a name in a directory stands for, not followed; None where it stands for nothing."""
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _hold(path: str, flags: int, patience: float = 0.0) -> int:
    """Held until this process is gone, however it goes; raises BlockingIOError where another shim holds it.

    A process that asks whether a shim lives takes the lock for an instant, shared: no other way sees it everywhere, as
    /proc/locks hides what is held in another pid namespace. A shim alone holds it for itself.
    """
    fd = os.open(path, flags)
    deadline = time.monotonic() + patience
    try:
        while not _is_locked_for_us(fd):
            # Where a shim holds it, this raises.
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.flock(fd, fcntl.LOCK_UN)
            if time.monotonic() >= deadline:
                raise BlockingIOError(f"{path} is held by somebody who only looks")
            time.sleep(LOOK_EVERY)  # flock has no time limit of its own.
    except OSError:
        os.close(fd)
        raise
    return fd


def _is_locked_for_us(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _make(path: str) -> None:
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
