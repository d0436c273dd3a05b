"""The files of a workspace with what tells a change of them. No link is followed, and no content read."""

from __future__ import annotations

import os
import stat
from time import monotonic

from phoenixd.documents.project.addendum import Listing, Signature
from phoenixd.drivers.files.project import _opened

MOST, SECONDS = 20_000, 5.0
LEFT_OUT = frozenset({".git", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".pytest_cache"})
"""Directories that hold nothing that a person wrote, and often more files than all others together."""


def list_files(workspace: str, at: float) -> Listing:
    """Every plain file as far as the bounds go. at: now (wall). Raises BadProject and OSError."""
    files: dict[str, Signature] = {}
    until = monotonic() + SECONDS
    with _opened(workspace) as top:
        for root, directories, names, place in os.fwalk(".", follow_symlinks=False, dir_fd=top):
            directories[:] = sorted(name for name in directories if name not in LEFT_OUT)
            for name in sorted(names):
                if len(files) >= MOST or monotonic() > until:
                    bound = f"{MOST} files" if len(files) >= MOST else f"{SECONDS:g} s"
                    return Listing(at, files, f"the workspace holds more than is looked at within {bound}")
                try:
                    found = os.stat(name, dir_fd=place, follow_symlinks=False)
                except FileNotFoundError:
                    continue  # It went away since it was listed.
                if stat.S_ISREG(found.st_mode):
                    signature = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
                    files[f"{root}/{name}".removeprefix("./")] = signature
    return Listing(at, files)
