"""The files of a workspace with what tells a change of them. No link is followed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from time import monotonic

from phoenixd.documents.project.addendum import Listing, Signature
from phoenixd.documents.report.before import Before
from phoenixd.drivers.files.workspace import DIRECTORY, opened

MOST, SECONDS, DEPTH = 20_000, 5.0, 64
"""Entries that are looked at, seconds that it takes, and directories below each other: an agent makes as many as it
likes, and each that is entered holds a descriptor open."""
LEFT_OUT = frozenset({".git", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".pytest_cache"})
"""Directories that hold nothing that a person wrote, and often more files than all others together."""
CLOSED = "directories that may not be read"

FILE_LIMIT, WHOLE_LIMIT, HASHING_SECONDS = 4 << 20, 64 << 20, 1.0
"""Bytes of a file that is hashed and of all of them, and seconds for it: a worker's start waits for that."""
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def list_files(workspace: str, at: float) -> Listing:
    """Every plain file as far as the bounds go, and no content. at: now (wall). Raises BadProject and OSError."""
    files: dict[str, Signature] = {}

    def note(place: int, name: str, path: str, found: os.stat_result) -> None:
        files[path] = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)

    looker = _Looker(monotonic() + SECONDS, note)
    with opened(workspace) as top:
        looker.look(top, "", 0)
    return Listing(at, files, looker.gap)


def hash_files(workspace: str) -> Before:
    """The SHA-256 of every plain file as far as the bounds go. Raises BadProject and OSError."""
    files: dict[str, str | None] = {}
    until, left = monotonic() + HASHING_SECONDS, WHOLE_LIMIT

    def note(place: int, name: str, path: str, found: os.stat_result) -> None:
        nonlocal left
        is_read = found.st_size <= min(FILE_LIMIT, left) and monotonic() < until
        files[path] = _digest(place, name, found) if is_read else None
        left -= found.st_size if is_read else 0

    looker = _Looker(monotonic() + SECONDS, note)
    with opened(workspace) as top:
        looker.look(top, "", 0)
    return Before(files, looker.gap, LEFT_OUT)


def _digest(place: int, name: str, found: os.stat_result) -> str | None:
    """The hash of the file that was found there; None where it is another one by now, changes, or may not be read."""
    try:
        file = os.open(name, READ, dir_fd=place)
    except OSError:
        return None
    try:
        if not os.path.samestat(os.fstat(file), found):
            return None
        content = os.read(file, found.st_size + 1)
        after = os.fstat(file)
    except OSError:
        return None
    finally:
        os.close(file)
    is_whole = len(content) == found.st_size and after.st_mtime_ns == found.st_mtime_ns
    return hashlib.sha256(content).hexdigest() if is_whole else None


class _Looker:
    """Goes through one workspace. until: when it gives up; note: takes each plain file; gap: what it did not see."""

    def __init__(self, until: float, note: Callable[[int, str, str, os.stat_result], None]) -> None:
        self.gap = ""
        self._until, self._note = until, note
        self._entries = 0

    def look(self, place: int, above: str, depth: int) -> None:
        for name in self._names(place):
            try:
                found = os.stat(name, dir_fd=place, follow_symlinks=False)
                if stat.S_ISREG(found.st_mode):
                    self._note(place, name, above + name, found)
                elif stat.S_ISDIR(found.st_mode) and name not in LEFT_OUT:
                    self._enter(place, name, f"{above}{name}/", depth + 1)
            except FileNotFoundError:
                continue  # It went away since it was listed.
            except PermissionError:
                self._lacks(CLOSED)

    def _enter(self, place: int, name: str, path: str, depth: int) -> None:
        if depth > DEPTH:
            self._lacks(f"more than {DEPTH} directories below each other")
            return
        try:
            inner = os.open(name, DIRECTORY, dir_fd=place)
        except PermissionError:
            self._lacks(CLOSED)
            return
        except NotADirectoryError:
            return  # It became something else since it was listed.
        try:
            self.look(inner, path, depth)
        finally:
            os.close(inner)

    def _names(self, place: int) -> list[str]:
        """What lies in a directory, in order, as far as the bounds go."""
        names: list[str] = []
        with os.scandir(place) as entries:
            for entry in entries:
                if self._entries >= MOST or monotonic() > self._until:
                    bound = f"{MOST} files and directories" if self._entries >= MOST else f"{SECONDS:g} s"
                    self._lacks(f"more than is looked at within {bound}")
                    break
                self._entries += 1
                names.append(entry.name)
        return sorted(names)

    def _lacks(self, what: str) -> None:
        self.gap = self.gap or f"the workspace holds {what}"
