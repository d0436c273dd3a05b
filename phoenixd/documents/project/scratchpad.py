"""What was tried in vain, which a package tells its successor so that it is not tried again (E90). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from phoenixd.documents.project.models import FailedApproach
from phoenixd.documents.project.outcomes import Ended
from phoenixd.documents.project.tree import Tree

MOST_KEPT = 50
"""The newest ones."""


def failed_approaches(
    ended: Iterable[Ended], known: Sequence[FailedApproach], tree: Tree, clean: Callable[[str], str]
) -> tuple[FailedApproach, ...]:
    """Those of the package before, then what workers failed at; without tasks that are completed by now.

    ended: oldest first. clean: takes secrets out of a text.
    """
    tasks = {(phase, task.id): task for phase, plan in tree.plans().items() for task in plan.tasks}
    completed = {task.title for task in tasks.values() if task.status == "completed"}
    found = {one.approach: one for one in known if one.approach not in completed}
    for one in ended:
        task = tasks.get((one.outcome.phase, one.outcome.task))
        if one.outcome.status == "blocked" and task is not None and task.status != "completed":
            found.pop(task.title, None)
            found[task.title] = FailedApproach(
                approach=task.title, attempts=one.attempts, failure_reason=clean(one.outcome.reason)
            )
    return tuple(found.values())[-MOST_KEPT:]
