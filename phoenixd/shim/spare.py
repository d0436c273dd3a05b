"""A file that is created while the agent lives, so that its end only has to be written into it and put in place.

What counts at an end is how soon it is told, and a record is told once it stands. To create a file and to replace
another one by it takes most of the time, because ext4 writes out what replaces a file, unless the names are exchanged.
"""

from __future__ import annotations

import ctypes
import os
import stat

import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

AT_FDCWD, RENAME_EXCHANGE = -100, 2
_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


class Spare:
    """Beside `path`, under a name that no record has. It is of use once; then `clear`, and `prepare` anew."""

    def __init__(self, path: str) -> None:
        self._path = path
        directory, name = os.path.split(path)
        self._beside = os.path.join(directory, f".{name}.spare")
        self._fd = -1

    def prepare(self) -> None:
        """Have an empty file ready; raises OSError."""
        if self._fd >= 0 or _renameat2 is None:
            return
        try:
            os.unlink(self._beside)
        except FileNotFoundError:
            pass
        self._fd = os.open(self._beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    def write(self, record: dict[str, Any]) -> bool:
        """Put the record in place of `path`, whole but not durable; False where there is nothing ready.

        What stood there before is left for `clear`. Raises OSError, and then nothing has changed.
        """
        if self._fd < 0 or _renameat2 is None or not os.path.lexists(self._path):
            return False
        if not self._is_untouched():
            self.clear()
            return False
        unwritten = records.encode(record) + b"\n"
        try:
            while unwritten:
                unwritten = unwritten[os.write(self._fd, unwritten) :]
        except OSError:
            self.clear()
            raise
        beside, path = os.fsencode(self._beside), os.fsencode(self._path)
        if _renameat2(AT_FDCWD, beside, AT_FDCWD, path, RENAME_EXCHANGE) != 0:  # A file system that knows no exchange.
            self.clear()
            return False
        return True

    def clear(self) -> None:
        """Let go of the file, and of what it has replaced."""
        if self._fd < 0:
            return
        os.close(self._fd)
        self._fd = -1
        try:
            os.unlink(self._beside)
        except OSError:  # Somebody was here first.
            pass

    def _is_untouched(self) -> bool:
        """Whether the name still leads to the file, and nothing was written into it: the agent could reach it."""
        try:
            found, ours = os.stat(self._beside, follow_symlinks=False), os.fstat(self._fd)
        except OSError:
            return False
        is_ours = stat.S_ISREG(found.st_mode) and (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino)
        return is_ours and ours.st_size == 0 and ours.st_nlink == 1
