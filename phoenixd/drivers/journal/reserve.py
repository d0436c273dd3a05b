"""A file that only takes up room, so that on a full disk the orders that end processes can still be written."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

RESERVE_BYTES = 1024 * 1024


class Reserve:
    """Space held back from everybody, ourselves included, until it is released."""

    def __init__(self, path: Path, size: int = RESERVE_BYTES) -> None:
        self._path = path
        self._size = size
        self.held = False
        self._lock = threading.Lock()

    def release(self) -> bool:
        """Give the space to the next writer; returns whether there was any."""
        with self._lock:
            self.held = False
            try:
                self._path.unlink()
            except OSError:
                return False
            return True

    def ensure(self) -> str | None:
        """Take the space back, once there is so much of it that this does not make the disk full again.

        Returns why there is too little, where so little is left that every write may be the last.
        """
        if self.held:
            return None
        with self._lock, suppress(OSError):
            disk = os.statvfs(self._path.parent)
            free = disk.f_bavail * disk.f_frsize
            if self._is_there() or free >= 2 * self._size:
                self.held = self._is_there() or self._allocate()
            else:
                return f"{free // 1024} KiB are left on the disk of {self._path.parent}"
        return None

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
