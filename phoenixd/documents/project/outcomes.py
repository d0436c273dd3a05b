"""What workers do of a project's plans: for the update before a handoff, and as they begin and end. Pure."""

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


@dataclass(frozen=True, slots=True)
class Begun:
    """A task of a plan that a worker has in hand, or that was taken from one and is to be done yet, and when (wall)."""

    at: float
    outcome: TaskOutcome


def of_workers(tasks: Tasks, project: str, workspace: str) -> tuple[Ended, ...]:
    """The newest end of each task of the project's plans, oldest first; a task that is in hand again has none.

    Another workspace may have a project of the same name, whose tasks are others. A report that claims what did not
    happen completes nothing: somebody has to look first.
    """
    found: dict[tuple[str, str], Task | None] = {}
    for task in _of_plans(tasks, project, workspace):
        if task.state not in ("canceled", "unknown"):
            found[task.phase, task.plan] = task if task.has_ended else None
    ended = [_ended(task) for task in found.values() if task is not None]
    return tuple(sorted(ended, key=lambda one: one.at))


def in_hand(tasks: Tasks, project: str, workspace: str) -> tuple[Begun, ...]:
    """The tasks of the project's plans that have begun and not ended, oldest first; and those that were canceled after
    they had begun, which are to be done yet. One that waits for its next try is in hand (E10)."""
    newest = {(task.phase, task.plan): task for task in _of_plans(tasks, project, workspace) if task.runs}
    found = [_begun(task) for task in newest.values() if not task.has_ended or task.state == "canceled"]
    return tuple(sorted(found, key=lambda one: one.at))


def untold(ended: Iterable[Ended | Begun], tree: Tree, now: float) -> tuple[TaskOutcome, ...]:
    """Those that came since the project's state was last written: the others a person may have changed since.

    A state from the future tells nothing: the clock was set back, or somebody wrote it so. Raises BadProject.
    """
    state = tree.state()
    told = read_time(state.updated_at or "") if state is not None else None
    plans = tree.plans()
    return tuple(_moved(one.outcome, plans) for one in ended if told is None or told > now or one.at >= told)


def _of_plans(tasks: Tasks, project: str, workspace: str) -> list[Task]:
    """Those of the project's plans, in the order in which they were asked for."""
    known = (*tasks.untold, *tasks.ended, *tasks.open)
    found = [one for one in known if one.plan and one.phase and is_of(one, project, workspace)]
    return sorted(found, key=lambda one: int(one.id[1:]))


def _begun(task: Task) -> Begun:
    if task.has_ended:
        why = f"{task.id}: {task.why}"[:REASON_LIMIT]
        return Begun(task.since_wall, TaskOutcome(task.phase, task.plan, "pending", why))
    return Begun(task.since_wall, TaskOutcome(task.phase, task.plan, "in_progress"))


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
