"""The agent's runtime directory: held by a lock for as long as the shim lives, and found again where a hand took it.

The path leads to it, and so does the descriptor. Where the two differ, the directory was removed, moved or replaced;
then what the path leads to now is locked in its stead, unless another shim holds that.
"""

from __future__ import annotations

import fcntl
import os
import stat

FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Place:
    """Made of a directory that exists; raises OSError, and BlockingIOError where another process holds it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fd = _hold(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

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


def _hold(path: str, flags: int) -> int:
    fd = os.open(path, flags)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd


def _make(path: str) -> None:
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
