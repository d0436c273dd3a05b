"""Which task waits for which (E86): cycles by name, and what can begin now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from phoenixd.documents.project.plan import Plan, Task

Key = tuple[str, str]
"""A phase and a task's id in it."""


def edges(plans: Mapping[str, Plan]) -> dict[Key, tuple[Key, ...]]:
    """For each task those that it waits for: of its own phase, else of the only phase that has such a task.

    Of a phase that it waits for as a whole, all tasks. A dependency that nothing is called is left out; see `unknown`.
    """
    return {
        (phase, task.id): tuple(key for word in task.dependencies for key in _meant(word, phase, plans))
        for phase, plan in plans.items()
        for task in plan.tasks
    }


def unknown(plans: Mapping[str, Plan]) -> tuple[tuple[Key, str], ...]:
    """Dependencies that no task and no phase is called."""
    return tuple(
        ((phase, task.id), word)
        for phase, plan in plans.items()
        for task in plan.tasks
        for word in task.dependencies
        if not _meant(word, phase, plans) and word not in plans
    )


def cycle(plans: Mapping[str, Plan]) -> tuple[Key, ...]:
    """Tasks that wait for each other, the first one again at the end; empty where none do (F-PH-5)."""
    waits = edges(plans)
    seen: set[Key] = set()
    for start in waits:
        path: list[Key] = []
        # Each key with those that it waits for and that were not followed yet: plans may be deeper than the stack.
        stack = [(start, iter(waits[start]))] if start not in seen else []
        if stack:
            path.append(start)
        while stack:
            after = next(stack[-1][1], None)
            if after is None:
                stack.pop()
                seen.add(path.pop())
            elif after in path:
                return (*path[path.index(after) :], after)
            elif after not in seen:
                path.append(after)
                stack.append((after, iter(waits.get(after, ()))))
    return ()


def ready(plans: Mapping[str, Plan], phase: str) -> tuple[Task, ...]:
    """Pending tasks of a phase that nothing keeps waiting, in the plan's order."""
    status = {(name, task.id): task.status for name, plan in plans.items() for task in plan.tasks}
    waits = edges(plans)
    missing = {key for key, _ in unknown(plans)}
    return tuple(
        task
        for task in plans[phase].tasks
        if task.status == "pending"
        and (phase, task.id) not in missing
        and all(status[key] == "completed" for key in waits[phase, task.id])
    )


def _meant(word: str, phase: str, plans: Mapping[str, Plan]) -> Sequence[Key]:
    if word in plans:
        return [(word, task.id) for task in plans[word].tasks]
    owners = [name for name, plan in plans.items() if any(task.id == word or task.title == word for task in plan.tasks)]
    if phase in owners:
        owners = [phase]
    if len(owners) != 1:
        return []
    found = next(task.id for task in plans[owners[0]].tasks if word in (task.id, task.title))
    return [(owners[0], found)]
