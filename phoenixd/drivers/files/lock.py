"""Locks that the kernel drops with their holder, so that none can be stale: on a file, and on a directory's inode.

A directory is locked itself, because a file in it can be deleted and made again while somebody holds the old one. No
child gets these descriptors (O_CLOEXEC): a tmux server that a daemon started does not hold the lock of a dead daemon.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Self

from phoenixd.errors import AlreadyRunning, UnsafeFile

Location = str | os.PathLike[str]

LOCK = "phoenixd.lock"
"""The file in a locked directory. It names the holder, and is all that phoenixd 0.1 locked."""

PASSING, ENDING = " in passing", " ending"
"""What a lock file says of its holder after the pid. An older version takes the second for no pid at all."""

FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
CANNOT = frozenset({errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})
"""How file systems say that they lock no directories; NFS wants a descriptor for writing, and there is none."""
TRIES = 100


class DirectoryLock:
    """A directory of ours, held by its inode and by the lock file in it.

    Where no directory can be locked, the file alone has to do. Where it stands already, it is locked too, for older
    versions know no other lock. Nothing is written before `sign`.
    """

    def __init__(self, directory: Location, *, passing: bool = False) -> None:
        """Take it; raises AlreadyRunning at once, FileNotFoundError, and UnsafeFile where it is somebody else's.

        passing: for a moment, which others wait for. Such holders share the inode, and have the file one at a time.
        """
        self.directory = Path(directory)
        self._passing = passing
        self._file: int | None = None
        self._inode = _lock_inode(self.directory, shared=passing)
        try:
            self._file = _lock_file(self.directory / LOCK, create=self._inode is None)
        except BaseException:
            self.release()
            raise

    def sign(self) -> None:
        """Say in the lock file whose the directory is; raises AlreadyRunning where another one made one meanwhile."""
        if self._file is None:
            self._file = _lock_file(self.directory / LOCK, create=True)
        assert self._file is not None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}{PASSING if self._passing else ''}\n".encode(), 0)

    def say_ending(self) -> None:
        """Say in the lock file that its holder is about to end; raises OSError."""
        if self._file is not None:
            os.pwrite(self._file, f"{os.getpid()}{ENDING}\n".encode(), 0)

    def is_of(self, directory: Location) -> bool:
        """Whether that name still leads to what is held."""
        if self._inode is not None:
            return _is_named(self._inode, Path(directory))
        return self._file is not None and _is_named(self._file, Path(directory) / LOCK)

    def release(self) -> None:
        for descriptor in (self._file, self._inode):
            if descriptor is not None:
                os.close(descriptor)
        self._file = self._inode = None

    def __enter__(self) -> Self:
        try:
            self.sign()
        except BaseException:
            self.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def is_ending(directory: Path) -> bool:
    """Whether the lock file says that the process which it names, and which lives, is about to end."""
    return _noted(directory).endswith(ENDING) and holder_of(directory) is not None


def holder_of(directory: Path) -> int | None:
    """The pid that the lock file names; None where it names none, or that process is gone."""
    pid = _pid(_noted(directory))
    if not pid.isdigit():
        return None
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        return None
    except PermissionError:
        pass
    return int(pid)


def _lock_inode(directory: Path, *, shared: bool) -> int | None:
    """A descriptor that holds the directory which has this name now; None where its file system locks none."""
    for _ in range(TRIES):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            owner = os.fstat(descriptor).st_uid
            if owner != os.geteuid():
                raise UnsafeFile(
                    f"{directory} belongs to uid {owner}, not to uid {os.geteuid()}",
                    remedy="choose another directory, or give this one to the daemon's user",
                )
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            if _is_named(descriptor, directory):
                return descriptor
        except BlockingIOError:
            passing = not shared and _is_shared(descriptor)
            os.close(descriptor)
            raise _taken(directory, str(holder_of(directory) or ""), passing) from None
        except OSError as error:
            os.close(descriptor)
            if error.errno in CANNOT:
                return None
            raise
        except UnsafeFile:
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise AlreadyRunning(f"{directory} is replaced again and again", "look who does that")


def _lock_file(path: Path, *, create: bool) -> int | None:
    """A descriptor that holds the file which has this name now; None where there is none, and none is to be made."""
    for _ in range(TRIES):
        try:
            descriptor = os.open(path, FLAGS | (os.O_CREAT if create else 0), 0o600)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UnsafeFile(
                f"{path} cannot be opened: {error.strerror}", f"look at it, and remove it: rm {path}"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_named(descriptor, path):
                return descriptor
        except BlockingIOError:
            note = _note(descriptor)
            os.close(descriptor)
            raise _taken(path, note) from None
        except OSError:
            os.close(descriptor)
            raise
        # Somebody removed it meanwhile: the next daemon would lock another one.
        os.close(descriptor)
    raise AlreadyRunning(f"{path} is removed again and again", "look who does that")


def _is_shared(descriptor: int) -> bool:
    """Whether those who hold it do so in passing."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_named(descriptor: int, path: Path) -> bool:
    """Whether `path` still leads to what was opened."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _noted(directory: Path) -> str:
    """What stands in the lock file of a directory; empty where there is none that can be read."""
    try:
        descriptor = os.open(directory / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return _note(descriptor)
    finally:
        os.close(descriptor)


def _pid(note: str) -> str:
    return note.removesuffix(PASSING).removesuffix(ENDING)


def _note(descriptor: int) -> str:
    """What a lock's holder wrote into its file."""
    return os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()


def _taken(path: Path, note: str, passing: bool = False) -> AlreadyRunning:
    pid = _pid(note)
    return AlreadyRunning(
        f"another phoenixd holds {path}" + (f" (pid {pid})" if pid.isdigit() else ""),
        remedy="use that one, or choose another --state-dir",
        passing=passing or note.endswith(PASSING),
    )
