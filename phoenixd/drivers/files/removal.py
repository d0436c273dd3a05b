"""Directories that an agent has filled, removed with all that is in them: however deep, and without following a link.

shutil.rmtree calls itself for each directory below another, and holds a descriptor open for each: an agent nests as
many as it likes, and the daemon that calls it then ends.
"""

from __future__ import annotations

import errno
import os
import secrets

from phoenixd.drivers.files.workspace import DIRECTORY
from phoenixd.listings import names_in

Location = str | os.PathLike[str]

MOST = 5_000_000
"""Entries that one call removes: somebody may fill the directory meanwhile."""
AT_ONCE = 10_000


def remove_tree(path: Location) -> None:
    """Remove a directory, and raise NotADirectoryError for anything else in its place, also for a link; blocking.

    Raises OSError where something cannot be removed.
    """
    top = os.open(path, DIRECTORY)
    try:
        _Emptying(top).run()
    finally:
        os.close(top)
    os.rmdir(path)


class _Emptying:
    """Empties one directory: what directories in it hold, which is to be emptied as well, is moved up into it first."""

    def __init__(self, top: int) -> None:
        self._top = top
        self._left = MOST
        self._moved, self._mark = 0, f".{secrets.token_hex(8)}"

    def run(self) -> None:
        while names := self._names(self._top):
            for name in names:
                if not _is_removed(name, self._top):
                    self._move_up_from(name)
                    os.rmdir(name, dir_fd=self._top)

    def _move_up_from(self, name: str) -> None:
        inner = os.open(name, DIRECTORY, dir_fd=self._top)
        try:
            while names := self._names(inner):
                for one in names:
                    if not _is_removed(one, inner):
                        self._moved += 1
                        os.rename(one, f"{self._mark}.{self._moved}", src_dir_fd=inner, dst_dir_fd=self._top)
        finally:
            os.close(inner)

    def _names(self, place: int) -> list[str]:
        names = names_in(place, AT_ONCE)
        self._left -= len(names)
        if self._left < 0:
            raise OSError(errno.ENOTEMPTY, f"it holds more than {MOST} files and directories")
        return names


def _is_removed(name: str, place: int) -> bool:
    """Remove what has this name; False for a directory that holds something."""
    try:
        os.unlink(name, dir_fd=place)
    except IsADirectoryError:
        try:
            os.rmdir(name, dir_fd=place)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            return False
    return True
