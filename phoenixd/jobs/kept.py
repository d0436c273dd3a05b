"""What stands in STATE_DIR/tasks already: a journal that is old or new must never take it for its own tasks'."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import structlog

from phoenixd.core.tasks.state import MOST_ENDED, WHY_LIMIT, Outcome, Task
from phoenixd.directories import Directories
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.project.outcomes import Ended
from phoenixd.documents.project.publishing import Made
from phoenixd.documents.project.tree import Copy
from phoenixd.documents.times import known_wall, timestamp
from phoenixd.drivers.files.plain import read_plain
from phoenixd.errors import PhoenixdError, UnsafeFile

MANIFEST, OUTPUTS = "manifest.json", "outputs"
MANIFEST_LIMIT = 8 << 20
REPORT = "report.md"
REPORT_LIMIT = 8 << 20
NAME_LIMIT = 100
LARGEST = 2**40
_VERDICT = re.compile(r"# Task [^\n]*\n\n- verdict: (done|failed|canceled): ([^\n]*)\n")
"""How a report begins. What was asked and answered stands below, quoted."""
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


def forgotten(directories: Directories, now: float) -> tuple[Task, ...]:
    """What stands on the disk of the newest tasks, the oldest first, for a journal that may know none; blocking.

    A task whose worker was never begun has no directory, and nothing tells of it. now: wall seconds.
    """
    place = directories.task("t1").parent
    try:
        with os.scandir(place) as entries:
            found = sorted(int(named[1]) for one in entries if (named := _TASK.fullmatch(one.name)) is not None)
    except OSError as error:
        log.warning("tasks_not_listed", path=os.fspath(place), reason=str(error))
        return ()
    return tuple(_forgotten(directories, f"t{number}", now) for number in found[-MOST_ENDED:])


def _forgotten(directories: Directories, task_id: str, now: float) -> Task:
    place = directories.task(task_id)
    said, document = _verdict(place / REPORT), _document(place / MANIFEST)
    asked, written = known_wall(_number(document.get("asked_at"))) or now, _written(place / MANIFEST, now)
    run, files = int(_number(document.get("run"))), document.get("files")
    agent, project, plan = (
        one_line(str(document.get(key) or ""), NAME_LIMIT) for key in ("agent", "project", "plan_task")
    )
    known = Task(
        task_id, agent or "unknown", project=project, plan=plan, asked_wall=asked, since_wall=written, runs=run,
        tries=max(1, run), told="nobody",
    )  # fmt: skip
    if said is None:
        why = "the journal was lost, and nothing on the disk tells what became of it"
        return replace(known, state="unknown", why=f"{why}: {os.fspath(place)}")
    state, why = said
    left = Outcome(report=os.fspath(place / REPORT), outputs=len(files) if isinstance(files, list) else 0)
    more = "; whether another run was to follow was lost with the journal" if state == "failed" else ""
    return replace(known, state=state, why=f"{why} (by its report{more})", outcome=left)


def _verdict(path: Path) -> tuple[Literal["done", "failed", "canceled"], str] | None:
    """What the report says of the newest run of its task; None where it cannot be read."""
    try:
        text = read_plain(path, REPORT_LIMIT).decode("utf-8", "replace")
    except (FileNotFoundError, UnsafeFile):
        return None
    found = _VERDICT.match(text)
    if found is None:
        return None
    state: Literal["done", "failed", "canceled"]
    match found[1]:
        case "done":
            state = "done"
        case "failed":
            state = "failed"
        case _:
            state = "canceled"
    return state, one_line(found[2], WHY_LIMIT)


def _document(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_plain(path, MANIFEST_LIMIT))
    except (FileNotFoundError, UnsafeFile, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _number(value: object) -> float:
    """A number that may be a time or a count; 0 for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < LARGEST else 0.0  # type: ignore[operator, arg-type]


def _written(path: Path, now: float) -> float:
    try:
        return min(os.lstat(path).st_mtime, now)
    except OSError:
        return now


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
