"""Files of the user's own, such as a CLI's settings: they may be links of theirs, and are only read."""

from __future__ import annotations

import os
from collections.abc import Callable

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
