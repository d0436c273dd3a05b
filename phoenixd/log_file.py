"""STATE_DIR/phoenixd.log, kept small by the daemon that writes it: at a size it becomes phoenixd.log.1.

phoenixctl gives the file to the daemon as its standard output and error, and a daemon lives for months. Under systemd
both lead to the journal of the host, and this file is left alone.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
import threading
from collections.abc import Sequence
from pathlib import Path

NAME = "phoenixd.log"
LARGEST = 16 << 20
"""Bytes; some 50,000 decisions. The file before it is kept beside, and may have as many."""
OUTPUTS = (1, 2)


class LogFile:
    """The file that standard output and error lead to; made anew where it is full, or where a hand took it away."""

    def __init__(self, path: Path, outputs: Sequence[int] = OUTPUTS, largest: int = LARGEST) -> None:
        self._path = path
        self._outputs = outputs
        self._largest = largest
        self._lock = threading.Lock()

    @property
    def kept(self) -> Path:
        """The file before this one."""
        return self._path.with_name(f"{self._path.name}.1")

    def tend(self) -> str | None:
        """Begin the file anew where it is due. Where that fails, lines go on to where they went: why, and what helps.

        Safe in any thread.
        """
        with self._lock:
            try:
                self._begin_anew()
            except OSError as error:
                what = error.strerror or str(error)
                return f"{self._path} cannot be begun anew ({what}): {self._remedy()}"
        return None

    def _begin_anew(self) -> None:
        if (size := self._size()) is not None and size < self._largest:
            return
        if size is not None:
            os.replace(self._path, self.kept)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EEXIST, "what stands there is no file")
            for output in self._outputs:
                os.dup2(descriptor, output)
        finally:
            os.close(descriptor)

    def _remedy(self) -> str:
        """What stands in the place of a file is moved away, never removed: it is somebody's."""
        for place in (self._path, self.kept):
            try:
                found = os.stat(place, follow_symlinks=False).st_mode
            except OSError:
                continue
            if stat.S_ISDIR(found) or (place == self._path and not stat.S_ISREG(found)):
                return f"mv {shlex.quote(str(place))} {shlex.quote(f'{place}.aside')}"
        directory = shlex.quote(str(self._path.parent))
        return f"look with: ls -ld {directory}; df {directory}"

    def _size(self) -> int | None:
        """How large it is; None where the path does not lead to what is written any more. Raises OSError."""
        written = os.fstat(self._outputs[-1])
        try:
            found = os.stat(self._path, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return found.st_size if (found.st_dev, found.st_ino) == (written.st_dev, written.st_ino) else None


def written_by_us(path: Path, outputs: Sequence[int] = OUTPUTS, largest: int = LARGEST) -> LogFile | None:
    """The log of this process, where all its outputs lead to the file at that path; None where one leads elsewhere."""
    try:
        there = os.stat(path, follow_symlinks=False)
        found = [os.fstat(output) for output in outputs]
    except OSError:
        return None
    if not stat.S_ISREG(there.st_mode) or any(
        (one.st_dev, one.st_ino) != (there.st_dev, there.st_ino) for one in found
    ):
        return None
    return LogFile(path, outputs, largest)
