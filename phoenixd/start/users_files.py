"""Files of the user's own, such as a CLI's settings: they may be links of theirs, and may be read-only."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

from phoenixd.errors import UnsafeFile
from phoenixd.memory.files import Files


def reader(files: Files, limit: int) -> Callable[[str], bytes | None]:
    """What reads one, of `limit` bytes at most; None where it cannot be read. Blocking."""

    def read(path: str) -> bytes | None:
        try:
            return files.read_plain(os.path.realpath(path), limit)
        except (OSError, UnsafeFile):
            return None

    return read


def read_only_remedy(path: Path, error: Exception) -> str:
    """What helps where one cannot be written because its file system is read-only; empty for any other reason."""
    if not isinstance(error, OSError) or error.errno != errno.EROFS:
        return ""
    place = next(directory for directory in path.parents if directory.is_dir())
    return f"where phoenixd is a service of the system: systemctl edit phoenixd, [Service] ReadWritePaths={place}"
