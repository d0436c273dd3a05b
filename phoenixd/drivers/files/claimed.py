"""Files that a report names, looked at without following anything: regular files below the workspace, bounded.

Blocking; never raises. A path that leaves the workspace is not touched, a link is not followed, and what is no regular
file is not opened: the file is first held by its name alone (O_PATH), and only then, known to be regular, read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping

from phoenixd.documents.report.facts import FileSeen

HELD = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
FILE_LIMIT, WHOLE_LIMIT, TIME_LIMIT = 256 << 20, 1 << 30, 30.0
SLACK = 2.0
MOST_PARTS = 128
CHUNK = 1 << 20


class _Stopped(Exception):
    """The way to a file ended; `seen` says where."""

    def __init__(self, seen: FileSeen) -> None:
        super().__init__(seen.state)
        self.seen = seen


def look_at(root: str, paths: Iterable[str], began: float, reported: float) -> Mapping[str, FileSeen]:
    """Each path as it was when the report was given, as far as the file system still tells. Times are wall seconds.

    began: of the task. What was changed after `reported` is marked, for it proves nothing.
    """
    looking = _Looking(root, began, reported)
    return {path: looking.seen(path) for path in dict.fromkeys(paths)}


class _Looking:
    def __init__(self, root: str, began: float, reported: float) -> None:
        self.began, self.reported = began, reported
        self.root = os.path.realpath(root)
        self.names = {os.path.normpath(root), self.root}
        self._left, self._ends = WHOLE_LIMIT, time.monotonic() + TIME_LIMIT

    def seen(self, path: str) -> FileSeen:
        parts = self._parts(path)
        if parts is None:
            return FileSeen("outside")
        try:
            with contextlib.ExitStack() as held:
                return self._found(parts, held)
        except _Stopped as stopped:
            return stopped.seen
        except (OSError, ValueError):
            return FileSeen("unread")

    def _parts(self, path: str) -> list[str] | None:
        """The path's names below the workspace; None for one that leaves it."""
        if "\0" in path or path.startswith("~"):
            return None
        plain = os.path.normpath(path)
        if os.path.isabs(plain):
            below = next((plain[len(name) + 1 :] for name in self.names if plain.startswith(f"{name}/")), None)
            if below is None:
                return None
            plain = below
        parts = plain.split("/")
        return None if parts[0] in ("..", ".", "") or len(parts) > MOST_PARTS else parts

    def _found(self, parts: list[str], held: contextlib.ExitStack) -> FileSeen:
        directory = _open(self.root, HELD | os.O_DIRECTORY, None, held)
        for part in parts[:-1]:
            if not stat.S_ISDIR(self._mode(part, directory)):
                raise _Stopped(self._absent(directory))
            directory = _open(part, HELD | os.O_DIRECTORY, directory, held)
        self._mode(parts[-1], directory)
        file = _open(parts[-1], HELD, directory, held)
        found = os.fstat(file)
        if stat.S_ISLNK(found.st_mode):
            return FileSeen("link")
        if stat.S_ISDIR(found.st_mode):
            return FileSeen("directory")
        if not stat.S_ISREG(found.st_mode):
            return FileSeen("special")
        changed_at = max(found.st_ctime, found.st_mtime)
        if changed_at > self.reported:
            return FileSeen("file", later=True)
        digest = self._digest(file, found.st_size)
        if _stamp(os.fstat(file)) != _stamp(found):
            return FileSeen("file", later=True)
        return FileSeen("file", digest, changed=self._changed(found.st_ctime))

    def _changed(self, at: float) -> bool | None:
        """Whether a time lies in the task; None for one just before it: the kernel stamps files by a coarser clock."""
        return True if at >= self.began else False if at < self.began - SLACK else None

    def _mode(self, part: str, directory: int) -> int:
        """The kind of a name, without a step to where a link points."""
        try:
            mode = os.stat(part, dir_fd=directory, follow_symlinks=False).st_mode
        except FileNotFoundError:
            raise _Stopped(self._absent(directory)) from None
        if stat.S_ISLNK(mode):
            raise _Stopped(FileSeen("link"))
        return mode

    def _absent(self, directory: int) -> FileSeen:
        """Nothing has that name; where the directory was changed after the report, something may have had it."""
        return FileSeen("absent", later=os.fstat(directory).st_mtime > self.reported)

    def _digest(self, file: int, size: int) -> str | None:
        """The SHA-256 of an open file; None where it is too long, or the time for all of them is over."""
        if size > min(FILE_LIMIT, self._left):
            return None
        self._left -= size
        digest, left = hashlib.sha256(), size
        with _reading(file) as descriptor:
            while left > 0 and (chunk := os.read(descriptor, min(CHUNK, left))):
                if time.monotonic() > self._ends:
                    return None
                digest.update(chunk)
                left -= len(chunk)
        return digest.hexdigest() if left == 0 else None


def _open(name: str, flags: int, directory: int | None, held: contextlib.ExitStack) -> int:
    descriptor = os.open(name, flags, dir_fd=directory)
    held.callback(os.close, descriptor)
    return descriptor


@contextlib.contextmanager
def _reading(file: int) -> Iterator[int]:
    """The very file that is held, opened to be read: its name may mean another one by now."""
    descriptor = os.open(f"/proc/self/fd/{file}", READ)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _stamp(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns
