"""A journal whose file somebody took away while it was open: it is written anew, from what is open still.

Commits into a file without a name succeed, and would be gone with the process. The connection, though, reads all that
was ever committed to it, and SQLite copies a whole database from a connection.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from phoenixd.drivers.journal.salvage import Damage
from phoenixd.drivers.journal.schema import make_way, settle_log


def identity(path: Path) -> tuple[int, int]:
    """What tells one file from another of the same name; zeros for none."""
    try:
        found = os.lstat(path)
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


def put_back(connection: sqlite3.Connection, path: Path) -> Damage:
    """Put a copy of what is open in the place of whatever stands there, and close the connection.

    Raises sqlite3.Error and OSError; the connection is then as it was.
    """
    copy = path.with_name(path.name + ".copy")
    make_way(copy)
    with suppress(FileNotFoundError):
        copy.unlink()
    os.close(os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    with closing(sqlite3.connect(copy, isolation_level=None)) as target:
        connection.backup(target)
        # All of it in the file, so that the file alone is the database.
        settle_log(target)
    descriptor = os.open(copy, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    # The log of another file would be taken for this one's.
    connection.close()
    for suffix in ("-wal", "-shm"):
        make_way(path.with_name(path.name + suffix))
        with suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")
    make_way(path)
    os.rename(copy, path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    return Damage("its file was taken away or replaced while it was open, and was written anew", kept_as="")
