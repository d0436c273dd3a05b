"""What stands in STATE_DIR/tasks already: a journal that is old or new must never take it for its own tasks'."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

import structlog

from phoenixd.core.tasks.state import Task
from phoenixd.directories import Directories
from phoenixd.documents.project.outcomes import Ended
from phoenixd.documents.project.publishing import Made
from phoenixd.documents.project.tree import Copy
from phoenixd.documents.times import known_wall, timestamp
from phoenixd.drivers.files.plain import read_plain
from phoenixd.errors import PhoenixdError, UnsafeFile

MANIFEST, OUTPUTS = "manifest.json", "outputs"
MANIFEST_LIMIT = 8 << 20
_TASK = re.compile(r"t([1-9][0-9]{0,8})")

log = structlog.get_logger()


def newest_task(directories: Directories) -> int:
    """The highest number of a task that has a directory; 0 where there is none. Blocking."""
    place, newest = directories.task("t1").parent, 0
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                if (named := _TASK.fullmatch(entry.name)) is not None:
                    newest = max(newest, int(named[1]))
    except FileNotFoundError:
        return 0
    except OSError as error:
        # The daemon starts all the same; no worker can be given a directory, and nothing there is written over.
        log.warning("tasks_not_listed", path=os.fspath(place), reason=str(error))
    return newest


def made_by(directories: Directories, ended: Iterable[Ended]) -> tuple[Made, ...]:
    """The files that workers left for what they completed of a plan, by the manifests of their tasks; blocking.

    Whether each is still the file that the manifest says shows when it is copied.
    """
    found: list[Made] = []
    for one in ended:
        if one.outcome.status != "completed" or _TASK.fullmatch(one.id) is None:
            continue
        place = directories.task(one.id)
        asked, listed = _listed(place / MANIFEST)
        # The workspace may outlive this STATE_DIR, whose successor counts from t1 again.
        run = f"{one.id}-{re.sub('[:-]', '', timestamp(asked))}"
        for path, size, digest in listed:
            copy = Copy(os.fspath(place / OUTPUTS / path), size, digest)
            found.append(Made(one.outcome.phase, one.outcome.task, run, path, copy))
    return tuple(found)


def _listed(path: Path) -> tuple[float, list[tuple[str, int, str]]]:
    """When the task of a manifest that phoenixd wrote was asked for (wall), and path, size and sha256 of each file.

    None are in one that cannot be read.
    """
    try:
        document = json.loads(read_plain(path, MANIFEST_LIMIT))
        asked = known_wall(float(document.get("asked_at") or 0.0)) or 0.0
        return asked, [(str(one["path"]), int(one["size"]), str(one["sha256"])) for one in document["files"]]
    except (
        FileNotFoundError, UnsafeFile, ValueError, OverflowError, RecursionError, KeyError, TypeError, AttributeError,
    ) as error:  # fmt: skip
        log.warning("task_manifest_not_read", path=os.fspath(path), reason=repr(error))
        return 0.0, []


def require_own(directories: Directories, task: Task) -> None:
    """Raise PhoenixdError where the directory of this task holds the results of another one; blocking."""
    path = directories.task(task.id) / MANIFEST
    try:
        found = json.loads(read_plain(path, MANIFEST_LIMIT))
    except (FileNotFoundError, UnsafeFile, ValueError, RecursionError):
        # Only what phoenixd wrote whole tells of a task; a directory without that is one that was just begun.
        return
    asked = found.get("asked_at") if isinstance(found, dict) else None
    if asked not in (None, task.asked_wall):
        place = os.fspath(path.parent)
        raise PhoenixdError(f"{place} holds the results of another task {task.id}", f"mv {place} {place}.kept")
