"""What is asked about tasks: a new one, and to end one; each refusal says what to do instead."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.decision import Decision, Refusal
from phoenixd.core.events.tasks import TaskCancelRequested, TaskRequested
from phoenixd.core.fleet import Fleet, Step
from phoenixd.core.moment import Moment
from phoenixd.core.seat import finding
from phoenixd.core.tasks.names import is_same_phase, worker_name
from phoenixd.core.tasks.state import MOST_OPEN, Cut, Task, Tasks
from phoenixd.core.tasks.steps import cut_off, finish, noted
from phoenixd.core.tasks.worker import worker_of

SEE = "phoenixctl task status"


def request(before: Fleet, found: Step, event: TaskRequested, now: Moment) -> Step:
    """Somebody wants a task done: it waits in the queue from here on."""
    tasks = before.tasks
    if event.key and any(one.key == event.key for one in (*tasks.open, *tasks.ended)):
        return found
    refusal = _refusal(tasks, event) or _handed_over(before, event)
    if refusal is not None:
        return _refused(found, refusal)
    number = tasks.next
    task_id, name = f"t{number}", worker_name(event.spec.name, number)
    task = Task(
        id=task_id,
        agent=name,
        key=event.key,
        spec=worker_of(event.spec, name, task_id, event.prompt),
        asked_by=event.asked_by,
        by=event.by,
        project=event.project,
        plan=event.plan,
        phase=event.phase,
        workspace=event.workspace,
        after=event.after,
        place=event.place or event.spec.cwd,
        writes=event.writes,
        timeout=event.timeout,
        tries=event.tries,
        asked_wall=now.wall,
        since_wall=now.wall,
        why="asked for",
        told="" if event.asked_by else "nobody",
    )
    fleet = replace(found.fleet, tasks=tasks.with_new(task))
    of_plan = f", task {task.plan} of the plan of {task.project}" if task.plan else ""
    return noted(replace(found, fleet=fleet), f"task {task_id}{of_plan} is asked for by {event.by}")


def _handed_over(fleet: Fleet, event: TaskRequested) -> Refusal | None:
    """No new work begins once a handoff was triggered (E20)."""
    seat = finding.of(fleet, event.asked_by) if event.asked_by else None
    handoff = seat.handoff if seat is not None else None
    if seat is None or handoff is None or not handoff.is_before_fence:
        return None
    message = f"{seat.name} is being handed over (handoff {handoff.id}), and begins nothing new"
    return Refusal("conflict", message, f"phoenixctl handoff status {seat.name}")


def cancel(before: Fleet, found: Step, event: TaskCancelRequested, now: Moment) -> Step:
    """Somebody wants a task ended."""
    task = before.tasks.find(event.task)
    if task is None:
        return _refused(found, Refusal("not_found", f"there is no task {event.task}", SEE))
    words = f"canceled by {event.by}"
    match task.state:
        case "waiting":
            return finish(found, task, "canceled", words, now)
        case "running" if task.cut is None:
            return cut_off(found, replace(task, cut=Cut("canceled", words), why=words), now)
        case "running" | "collecting":
            return _refused(found, Refusal("conflict", f"{task.id} is being ended already", f"{SEE} {task.id}"))
        case _:
            return _refused(found, Refusal("conflict", f"{task.id} is {task.state} already", f"{SEE} {task.id}"))


def _refusal(tasks: Tasks, event: TaskRequested) -> Refusal | None:
    for name in event.after:
        earlier = tasks.find(name)
        if earlier is None:
            return Refusal("not_found", f"there is no task {name} to wait for", SEE)
        if earlier.state in ("failed", "canceled", "unknown"):
            said = f"{name} is {earlier.state}, and nothing can follow it"
            return Refusal("conflict", said, f"{SEE} {name}")
    for one in tasks.open:
        if not event.plan or one.has_ended or (one.project, one.plan) != (event.project, event.plan):
            continue
        if one.workspace and event.workspace and one.workspace != event.workspace:
            continue
        if not (one.phase and event.phase) or is_same_phase(one.phase, event.phase):
            said = f"task {event.plan} of the plan of {event.project} is in hand already: {one.id}"
            return Refusal("conflict", said, f"{SEE} {one.id}")
    if sum(not one.has_ended for one in tasks.open) >= MOST_OPEN:
        return Refusal("conflict", f"{MOST_OPEN} tasks wait and run already", SEE)
    return None


def _refused(found: Step, refusal: Refusal) -> Step:
    refused = Decision(None, reason=f"refused: {refusal.message}", weight="story")
    return replace(found, decisions=(*found.decisions, refused), refusal=refusal)
