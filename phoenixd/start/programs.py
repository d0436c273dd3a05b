"""Our own programs where runs find them: shim and hook program in a copy that stays, and phoenixctl by its name.

An agent calls phoenixctl for `resolve`, which needs neither path nor knowledge (P27).
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import structlog

from phoenixd import hidden
from phoenixd.errors import UnsafeFile
from phoenixd.installed import SOURCE, collect_garbage, install, interpreter, job_runner
from phoenixd.memory.files import Files

NAME = "phoenixctl"

log = structlog.get_logger("phoenixd.start")


class Programs:
    """The programs of one state directory. installed: the copy of shim and hook program; directory: phoenixctl's."""

    def __init__(self, state: Path, files: Files, source: Path = SOURCE) -> None:
        """Install what is missing, and remove the copies that nothing uses; raises OSError."""
        self.installed = install(state / "lib", source)
        self.interpreter = interpreter()
        self.directory = offer(state / "bin", files)
        self._standing = threading.Lock()
        # Where processes are hidden from us, what uses a copy is not to be seen, and so each one is kept.
        if hidden.hidepid() is None and (removed := collect_garbage(state / "lib", self.installed)):
            log.info("old_shims_removed", count=len(removed))

    @property
    def job_runner(self) -> tuple[str, ...]:
        """The argv before that of a program that runs once, and may leave nothing behind."""
        return job_runner(self.installed.shim)

    def stand(self) -> None:
        """Have the copies of our programs be there, also after somebody cleared them away; blocking."""
        with self._standing:
            was_made = self.installed.stand()
        if was_made:
            log.warning("shim_copied_again", directory=str(self.installed.directory), reason="it was gone or changed")


def offer(directory: Path, files: Files) -> Path:
    """Write a `phoenixctl` of this installation into a directory of its own; raises OSError."""
    beside = Path(sys.executable).with_name(NAME)
    command = [str(beside)] if os.access(beside, os.X_OK) else [sys.executable, "-P", "-m", "phoenixd.ctl"]
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
