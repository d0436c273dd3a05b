"""A file that only takes up room, so that on a full disk the orders that end processes can still be written."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

RESERVE_BYTES = 1024 * 1024


class Reserve:
    """Space held back from everybody, ourselves included, until it is released."""

    def __init__(self, path: Path, size: int = RESERVE_BYTES) -> None:
        self._path = path
        self._size = size
        self.held = False

    def release(self) -> bool:
        """Give the space to whoever writes next; whether there was any."""
        self.held = False
        try:
            self._path.unlink()
        except OSError:
            return False
        return True

    def ensure(self) -> None:
        """Take the space back, once there is so much of it that this does not make the disk full again."""
        if self.held:
            return
        with suppress(OSError):
            disk = os.statvfs(self._path.parent)
            if self._is_there() or disk.f_bavail * disk.f_frsize >= 2 * self._size:
                self.held = self._is_there() or self._allocate()

    def _is_there(self) -> bool:
        try:
            found = os.lstat(self._path)
        except FileNotFoundError:
            return False
        return found.st_blocks * 512 >= self._size

    def _allocate(self) -> bool:
        self._path.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, 0o600)
        try:
            # On a copy-on-write file system this promises less: there the reserve is a hope, not a right.
            os.posix_fallocate(descriptor, 0, self._size)
        except OSError:
            self._path.unlink(missing_ok=True)
            return False
        finally:
            os.close(descriptor)
        return True
