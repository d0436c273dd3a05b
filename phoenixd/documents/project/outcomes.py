"""What workers did of a project's plans, for the update before a handoff. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from phoenixd.core.tasks.names import is_same_phase
from phoenixd.core.tasks.state import Task, Tasks, is_of
from phoenixd.documents.project.plan import Plan
from phoenixd.documents.project.tree import Tree
from phoenixd.documents.project.update import TaskOutcome
from phoenixd.documents.times import read_time

REASON_LIMIT = 300


@dataclass(frozen=True, slots=True)
class Ended:
    """A task of a plan that a worker has ended, and when (wall). id: that of the task, as phoenixd counts.

    attempts: how often it was tried.
    """

    at: float
    outcome: TaskOutcome
    id: str = ""
    attempts: int = 1


def of_workers(tasks: Tasks, project: str, workspace: str) -> tuple[Ended, ...]:
    """The newest end of each task of the project's plans, oldest first; a task that is in hand again has none.

    Another workspace may have a project of the same name, whose tasks are others. A report that claims what did not
    happen completes nothing: somebody has to look first.
    """
    found: dict[tuple[str, str], Task | None] = {}
    known = sorted((*tasks.untold, *tasks.ended, *tasks.open), key=lambda one: int(one.id[1:]))
    for task in known:
        is_of_plan = bool(task.plan and task.phase) and is_of(task, project, workspace)
        if is_of_plan and task.state not in ("canceled", "unknown"):
            found[task.phase, task.plan] = task if task.has_ended else None
    ended = [_ended(task) for task in found.values() if task is not None]
    return tuple(sorted(ended, key=lambda one: one.at))


def untold(ended: Iterable[Ended], tree: Tree, now: float) -> tuple[TaskOutcome, ...]:
    """Those that came since the project's state was last written: the others a person may have changed since.

    A state from the future tells nothing: the clock was set back, or somebody wrote it so. Raises BadProject.
    """
    state = tree.state()
    told = read_time(state.updated_at or "") if state is not None else None
    plans = tree.plans()
    return tuple(_moved(one.outcome, plans) for one in ended if told is None or told > now or one.at >= told)


def _moved(outcome: TaskOutcome, plans: Mapping[str, Plan]) -> TaskOutcome:
    """With the phase in which the task stands by now: a plan may have been split, or put together again, meanwhile."""
    for phase in (outcome.phase, *(name for name in plans if is_same_phase(name, outcome.phase))):
        if phase in plans and any(task.id == outcome.task for task in plans[phase].tasks):
            return replace(outcome, phase=phase)
    return outcome


def _ended(task: Task) -> Ended:
    judged = task.outcome.judged if task.outcome is not None else None
    if task.state == "done" and (judged is None or not judged.contradicted):
        return Ended(task.since_wall, TaskOutcome(task.phase, task.plan, "completed"), task.id, task.runs)
    why = f"the report of {task.id} claims what did not happen" if task.state == "done" else f"{task.id}: {task.why}"
    return Ended(task.since_wall, TaskOutcome(task.phase, task.plan, "blocked", why[:REASON_LIMIT]), task.id, task.runs)
