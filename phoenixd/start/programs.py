"""phoenixctl where agents find it by its name: `resolve` is for them, and needs neither path nor knowledge (P27)."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from phoenixd.errors import UnsafeFile
from phoenixd.memory.files import Files

NAME = "phoenixctl"


def offer(directory: Path, files: Files) -> Path:
    """Write a `phoenixctl` of this installation into a directory of its own; raises OSError."""
    beside = Path(sys.executable).with_name(NAME)
    command = [str(beside)] if os.access(beside, os.X_OK) else [sys.executable, "-m", "phoenixd.ctl"]
    files.ensure_private_dir(directory)
    script = f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n'.encode("utf-8", "surrogateescape")
    # Not written again: a daemon has to be able to start on a full disk.
    if not _holds(directory / NAME, script, files):
        files.replace(directory / NAME, script, mode=0o500, durable=False)
    return directory


def _holds(path: Path, script: bytes, files: Files) -> bool:
    try:
        return files.read_plain(path, len(script)) == script and os.access(path, os.X_OK)
    except (FileNotFoundError, UnsafeFile):
        return False


def with_phoenixctl(variables: Mapping[str, str], directory: Path) -> dict[str, str]:
    """The environment with that directory last on the PATH, unless a phoenixctl is on it already."""
    path = variables.get("PATH", os.defpath)
    if shutil.which(NAME, path=path) is not None:
        return dict(variables)
    return {**variables, "PATH": f"{path}{os.pathsep}{directory}"}
