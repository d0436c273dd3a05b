"""The files of a workspace with what tells a change of them. No link is followed, and no content read."""

from __future__ import annotations

import os
import stat
from time import monotonic

from phoenixd.documents.project.addendum import Listing, Signature
from phoenixd.drivers.files.project import DIRECTORY, _opened

MOST, SECONDS, DEPTH = 20_000, 5.0, 64
"""Entries that are looked at, seconds that it takes, and directories below each other: an agent makes as many as it
likes, and each that is entered holds a descriptor open."""
LEFT_OUT = frozenset({".git", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".pytest_cache"})
"""Directories that hold nothing that a person wrote, and often more files than all others together."""


def list_files(workspace: str, at: float) -> Listing:
    """Every plain file as far as the bounds go. at: now (wall). Raises BadProject and OSError."""
    looker = _Looker(monotonic() + SECONDS)
    with _opened(workspace) as top:
        looker.look(top, "", 0)
    return Listing(at, looker.files, looker.gap)


class _Looker:
    """Goes through one workspace. until: when it gives up; gap: what it did not see."""

    def __init__(self, until: float) -> None:
        self.files: dict[str, Signature] = {}
        self.gap = ""
        self._until = until
        self._entries = 0

    def look(self, place: int, above: str, depth: int) -> None:
        for name in self._names(place):
            try:
                found = os.stat(name, dir_fd=place, follow_symlinks=False)
                if stat.S_ISREG(found.st_mode):
                    signature = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
                    self.files[above + name] = signature
                elif stat.S_ISDIR(found.st_mode) and name not in LEFT_OUT:
                    self._enter(place, name, f"{above}{name}/", depth + 1)
            except FileNotFoundError:
                continue  # It went away since it was listed.

    def _enter(self, place: int, name: str, path: str, depth: int) -> None:
        if depth > DEPTH:
            self._lacks(f"more than {DEPTH} directories below each other")
            return
        try:
            inner = os.open(name, DIRECTORY, dir_fd=place)
        except PermissionError:
            self._lacks("directories that may not be read")
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
