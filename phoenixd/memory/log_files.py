"""Files of lines that only grow: their end, their rotation, and what tells that a file was written."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def signature(path: str | Path) -> tuple[int, ...]:
    """What changes whenever a file is written or replaced; empty when there is none. See `size_of`."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ino, found.st_size, found.st_ctime_ns


def written_at(path: str | Path) -> float:
    """When a file was last written (wall); 0 where there is none."""
    found = signature(path)
    return found[0] / 1e9 if found else 0.0


def size_of(path: str | Path) -> int:
    """A file's size in bytes; 0 when there is none."""
    found = signature(path)
    return found[2] if found else 0


def rotate(path: Path, kept: int) -> None:
    """Make room for a new file: `path` becomes `path.1`, and so on; of the old ones `kept` stay."""
    for number in range(kept - 1, 0, -1):
        older, newer = Path(f"{path}.{number + 1}"), Path(f"{path}.{number}")
        if newer.exists():
            os.replace(newer, older)
    os.replace(path, f"{path}.1")


def tail(path: Path, size: int) -> bytes:
    """The last whole lines of a file, up to `size` bytes; empty for what is no plain file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return b""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        return b""
    with os.fdopen(descriptor, "rb") as file:
        if found.st_size > size:
            file.seek(found.st_size - size)
            file.readline(size)
        return file.read(size)
