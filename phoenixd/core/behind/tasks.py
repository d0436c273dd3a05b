"""What becomes of tasks where the journal is older than the world: none begins that may have ended since (promise 9).

A worker that lives, or that its wish wants, goes on, and its task with it. Of every other task nobody knows what became
of it: it waits until `recover` is confirmed, or an operator cancels it.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.agent.state import Stopped
from phoenixd.core.behind.plan import is_waiting, settled
from phoenixd.core.decision import Decision
from phoenixd.core.events.fleet import JournalBehind
from phoenixd.core.fleet import Step, put
from phoenixd.core.moment import Moment
from phoenixd.core.spec import AgentSpec
from phoenixd.core.tasks.queue import DOUBTED
from phoenixd.core.tasks.state import Task, Tasks
from phoenixd.core.tasks.steps import noted, taken


def declared(known: Tasks, event: JournalBehind) -> tuple[AgentSpec, ...]:
    """Who counts as declared: the configuration's agents, and workers that live though the journal knows none."""
    living = {trace.agent for trace in event.world.traces if trace.living is not None}
    workers = (task.spec for task in known.open if task.spec is not None and task.agent in living)
    return (*event.specs, *workers)


def face_the_world(found: Step, now: Moment) -> Step:
    """Each task that is not over goes on with its worker, or waits for a person. The workers are judged already."""
    for task in found.fleet.tasks.open:
        if not task.has_ended:
            found = _face(found, task, now)
    return found


def confirm(found: Step, by: str) -> Step:
    """A person has said that they are to begin."""
    for task in found.fleet.tasks.open:
        if task.doubted:
            found = taken(found, replace(task, doubted=False))
            found = noted(found, f"task {task.id} may begin: {by} confirmed the recovery", "detail")
    return found


def _face(found: Step, task: Task, now: Moment) -> Step:
    worker = found.fleet.agents.get(task.agent)
    is_ours = worker is not None and worker.spec.task == task.id
    if worker is not None and is_ours and is_waiting(worker):
        # The task asks for it: one question for both.
        found = put(found, Decision(settled(worker), reason=f"it waits with task {task.id}", weight="detail"), now)
        spared = task.spared + (task.state == "running")
        waits = replace(task, state="waiting", due=None, left=None, cut=None, sealing=0, spared=spared)
        return _doubt(found, waits, now)
    if worker is not None and is_ours and task.state != "running" and not isinstance(worker.state, Stopped):
        why = f"{worker.name} works on it, and the journal did not know that"
        goes_on = replace(
            task, state="running", due=now.at + task.timeout, left=task.timeout, runs=task.runs + 1,
            since_wall=now.wall, why=why,
        )  # fmt: skip
        return noted(taken(found, goes_on), f"task {task.id} goes on, run {goes_on.runs}: {why}")
    # What runs is looked at as ever, for the journal knows its run and the world says nothing else of it.
    return found if task.state == "running" else _doubt(found, task, now)


def _doubt(found: Step, task: Task, now: Moment) -> Step:
    waits = replace(task, doubted=True, since_wall=now.wall)
    return noted(taken(found, waits), f"task {task.id} waits for a person: {DOUBTED}")
