"""Which task may begin, and why another one waits (E86, F-PH-7): dependencies, `[jobs] at_once`, one writer a place."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.core.moment import Instant, Moment
from phoenixd.core.tasks.state import BUSY, JobRules, Task, Tasks


@dataclass(frozen=True, slots=True)
class Held:
    """Why a task does not begin. hopeless: it never can."""

    why: str
    hopeless: bool = False


def held(task: Task, tasks: Tasks, jobs: JobRules, now: Moment) -> Held | None:
    """Why this task does not begin now; None where it may."""
    for name in task.after:
        earlier = tasks.find(name)
        if earlier is None:
            # Only what ended is forgotten, and what it was to follow had not failed when it was asked for.
            continue
        if not earlier.has_ended:
            return Held(f"after {name}, which is {earlier.state}")
        if earlier.state != "done":
            return Held(f"{name}, which it was to follow, is {earlier.state}: {earlier.why}", hopeless=True)
    if task.due is not None and task.due > now.at:
        return Held(task.why)
    busy = [one for one in tasks.open if one.state in BUSY]
    if len(busy) >= jobs.at_once:
        return Held(f"{len(busy)} workers run: {', '.join(one.id for one in busy)} ([jobs] at_once = {jobs.at_once})")
    writer = next((one for one in busy if one.writes and task.writes and one.place == task.place), None)
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
