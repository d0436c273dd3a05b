"""What workers did of a project's plans, for the update before a handoff. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.core.tasks.state import Task, Tasks
from phoenixd.documents.project.update import TaskOutcome

REASON_LIMIT = 300


@dataclass(frozen=True, slots=True)
class Ended:
    """A task of a plan that a worker has ended, and when (wall)."""

    at: float
    outcome: TaskOutcome


def of_workers(tasks: Tasks, project: str) -> tuple[Ended, ...]:
    """The newest end of each task of the project's plans, oldest first; a task that is in hand again has none.

    A report that claims what did not happen completes nothing: somebody has to look first.
    """
    found: dict[tuple[str, str], Task | None] = {}
    known = sorted((*tasks.ended, *tasks.open), key=lambda one: int(one.id[1:]))
    for task in known:
        if task.project == project and task.plan and task.phase and task.state != "canceled":
            found[task.phase, task.plan] = task if task.has_ended else None
    ended = [_ended(task) for task in found.values() if task is not None]
    return tuple(sorted(ended, key=lambda one: one.at))


def _ended(task: Task) -> Ended:
    judged = task.outcome.judged if task.outcome is not None else None
    if task.state == "done" and (judged is None or not judged.contradicted):
        return Ended(task.since_wall, TaskOutcome(task.phase, task.plan, "completed"))
    why = f"the report of {task.id} claims what did not happen" if task.state == "done" else f"{task.id}: {task.why}"
    return Ended(task.since_wall, TaskOutcome(task.phase, task.plan, "blocked", why[:REASON_LIMIT]))
