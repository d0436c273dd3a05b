"""Which task of a project's plans may be handed to a worker now, and which files it is told of (E65, E86)."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from phoenixd.documents.plain_text import one_line
from phoenixd.documents.project import graph
from phoenixd.documents.project.plan import Plan, Task
from phoenixd.documents.project.tree import Tree
from phoenixd.documents.project.update import current_phase

MOST_NAMED, TITLE_LIMIT = 20, 80


@dataclass(frozen=True, slots=True)
class HandedOut:
    """A task that may begin. plan, context: files of its phase, as paths from the workspace's root."""

    phase: str
    task: Task
    plan: str
    context: str


@dataclass(frozen=True, slots=True)
class NotHandedOut:
    """Why a task may not begin, and what to do instead. kind: unknown: there is no such task."""

    kind: Literal["unknown", "conflict"]
    message: str
    remedy: str


def handed_out(
    tree: Tree, word: str, done: frozenset[graph.Key], coming: frozenset[graph.Key], workspace: str = "."
) -> HandedOut | NotHandedOut:
    """The task of the current phase that a word names by its id.

    done: tasks of the plans that workers have done, which the plans do not tell yet; coming: those that the
    new one waits for anyway. workspace: where the project is, for remedies. Raises BadProject where state or plan
    cannot be used.
    """
    plans, where = tree.plans(), f"--project {tree.project} --workspace {shlex.quote(workspace)}"
    phase = current_phase(tree, {name: _without(plan, name, done) for name, plan in plans.items()})
    plan = tree.plan(phase) if phase is not None else None
    if phase is None or plan is None:
        return NotHandedOut("unknown", f"{tree.project} has no phase with a plan", f"phoenixctl phase check {where}")
    plan.require_sound()
    task = next((one for one in plan.tasks if one.id == word), None)
    if task is None:
        return _unknown(word, phase, plan, plans)
    if circle := _circle(plans, phase, task):
        return NotHandedOut("conflict", f"these tasks wait for each other: {circle}", f"phoenixctl phase check {where}")
    if task.status == "completed":
        return NotHandedOut("conflict", f"{_named(task)} is completed already", f"phoenixctl phase list {where}")
    missing = [word for (key, word) in graph.unknown(plans) if key == (phase, task.id)]
    if missing:
        what = f"{_named(task)} depends on {one_line(missing[0], TITLE_LIMIT)}, and no task and no phase is called so"
        return NotHandedOut("conflict", what, f"phoenixctl phase check {where}")
    before = [key for key in graph.edges(plans)[phase, task.id] if key not in done | coming]
    waits = [key for key in before if _task(plans, key).status != "completed"]
    if waits:
        first = _task(plans, waits[0])
        more = f" and {len(waits) - 1} more" if len(waits) > 1 else ""
        what = f"{_named(task)} waits for {_named(first)}{more}, which is {first.status}"
        what += "; --after may name the worker that is at it"
        return NotHandedOut("conflict", what, "phoenixctl task status")
    return HandedOut(phase, task, tree.paths.plan(phase), tree.paths.context(phase))


def told(prompt: str, found: HandedOut, place: str) -> str:
    """The prompt of a worker: what it is asked, and the files of this phase alone. place: before each path."""
    return (
        f"{prompt.rstrip()}\n\nThis is {_named(found.task)} of {place}{found.plan}. What is to be known in this phase "
        f"stands in {place}{found.context}. Change neither: phoenixd keeps both from what you report.\n"
    )


def _unknown(word: str, phase: str, plan: Plan, plans: Mapping[str, Plan]) -> NotHandedOut:
    there = [_named(one) for one in plan.tasks if one.status != "completed"]
    listed = "; ".join(there[:MOST_NAMED]) + (f" and {len(there) - MOST_NAMED} more" if len(there) > MOST_NAMED else "")
    elsewhere = [name for name, other in plans.items() if name != phase and any(one.id == word for one in other.tasks)]
    where = f" (it stands in {elsewhere[0]}, and {phase} is the phase at work)" if elsewhere else ""
    what = f"{phase} has no task {word}{where}; its open tasks are: {listed or 'none'}"
    return NotHandedOut("unknown", what, f"phoenixctl phase list {where}")


def _circle(plans: Mapping[str, Plan], phase: str, task: Task) -> str:
    """The tasks that wait for each other, where this one waits for them; empty where it waits for no such ones."""
    waits = graph.edges(plans)
    reached, left = {(phase, task.id)}, [(phase, task.id)]
    while left:
        for key in waits.get(left.pop(), ()):
            if key not in reached:
                reached.add(key)
                left.append(key)
    of_these = {name: [one for one in plan.tasks if (name, one.id) in reached] for name, plan in plans.items()}
    found = graph.cycle({name: replace(plans[name], tasks=tuple(tasks)) for name, tasks in of_these.items()})
    return " -> ".join(_named(_task(plans, key)) for key in found)


def _without(plan: Plan, phase: str, done: frozenset[graph.Key]) -> Plan:
    """A plan that says of tasks that workers have done that they are."""
    told = (replace(one, status="completed") if (phase, one.id) in done else one for one in plan.tasks)
    return replace(plan, tasks=tuple(told))


def _task(plans: Mapping[str, Plan], key: graph.Key) -> Task:
    return next(one for one in plans[key[0]].tasks if one.id == key[1])


def _named(task: Task) -> str:
    """A task by its id and what it is called."""
    title = one_line(task.title, TITLE_LIMIT)
    return title if title.startswith("Task ") else f"task {task.id} ({title})"
