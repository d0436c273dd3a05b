"""Which task may begin, and why another one waits (E86, F-PH-7): dependencies, `[jobs] at_once`, one writer a place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from phoenixd.core.moment import Instant, Moment
from phoenixd.core.tasks.state import BUSY, JobRules, Task, Tasks

DOUBTED = "the journal is old, and it may have ended since: it begins once it is confirmed by: phoenixctl recover"
"""Why a task waits that an old journal has."""


@dataclass(frozen=True, slots=True)
class Held:
    """Why a task does not begin. hopeless: it never can."""

    why: str
    hopeless: bool = False


@dataclass(frozen=True, slots=True)
class Others:
    """What the tasks that wait have in common: built once for all of them, and anew when one begins or ends."""

    known: Mapping[str, Task]
    busy: tuple[Task, ...]
    full: str = ""
    """Why no other worker may run; empty where one may."""


def others(tasks: Tasks, jobs: JobRules) -> Others:
    """By whom a task may be held."""
    busy = tuple(one for one in tasks.open if one.state in BUSY)
    names = ", ".join(one.id for one in busy)
    full = f"{len(busy)} workers run: {names} ([jobs] at_once = {jobs.at_once})" if len(busy) >= jobs.at_once else ""
    return Others({one.id: one for one in (*tasks.ended, *tasks.open)}, busy, full)


def held(task: Task, among: Others, now: Moment) -> Held | None:
    """Why this task does not begin now; None where it may."""
    if task.doubted:
        return Held(DOUBTED)
    for name in task.after:
        earlier = among.known.get(name)
        if earlier is None:
            # Only what ended is forgotten, and what it was to follow had not failed when it was asked for.
            continue
        if not earlier.has_ended:
            return Held(f"after {name}, which is {earlier.state}")
        if earlier.state != "done":
            return Held(f"{name}, which it was to follow, is {earlier.state}: {earlier.why}", hopeless=True)
    if task.due is not None and task.due > now.at:
        return Held(task.why)
    if among.full:
        return Held(among.full)
    writer = next((one for one in among.busy if one.writes and task.writes and one.place == task.place), None)
    if writer is not None:
        return Held(f"{writer.id} writes in {task.place}: one writing worker at a time")
    return None


def next_due(tasks: Tasks, now: Moment) -> Instant | None:
    """The next instant at which a task needs a Tick."""
    return min((at for task in tasks.open if (at := _due(task, now)) is not None), default=None)


def _due(task: Task, now: Moment) -> Instant | None:
    if task.has_ended:
        return task.tell_at if task.tell_at is not None and task.tell_at > now.at else None
    if task.state == "running" and task.cut is not None:
        return None
    # One that may begin and is held waits for an event of the others.
    return task.due if task.due is None or task.state != "waiting" or task.due > now.at else None
