"""An end to what is kept of the past: removed workers, ended generations of seats, and the results of tasks.

A fleet has thousands of each in a year, and a daemon looks through the directories of all agents at its start. The
newest are kept, by number and by no time, for a clock may jump.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

import structlog
from anyio import to_thread

from phoenixd.core.fleet import Fleet
from phoenixd.core.seat import names as generations
from phoenixd.core.tasks import names as workers
from phoenixd.directories import Directories
from phoenixd.drivers.files.removal import remove_tree
from phoenixd.runs import is_locked

GENERATIONS_KEPT = 100
"""For each seat. A journal that has lost more handoffs than this does not know again which of them are over."""
INTERVAL = 3600.0
_TASK = re.compile(r"t([1-9][0-9]{0,8})")

log = structlog.get_logger()


async def clear(directories: Directories, fleet: Callable[[], Fleet], generations_kept: int = GENERATIONS_KEPT) -> None:
    """Remove what is older than the newest `jobs.keep` tasks and generations, if it is over and nothing of it lives."""
    known = fleet()
    keep = known.jobs.keep
    busy = {*known.agents, *(task.agent for task in known.tasks.open)}
    gone = known.retired.keys() - busy

    def clear_all() -> tuple[int, int, int]:
        there = gone.intersection(_listed(directories.agent_state("a").parent))
        old_workers = workers.beyond(there, keep)
        old_generations = generations.beyond(there, generations_kept)
        removed = [sum(_is_removed(directories, name) for name in old) for old in (old_workers, old_generations)]
        old_tasks = _old_tasks(_listed(directories.task("t1").parent), known, keep)
        return removed[0], removed[1], sum(_is_cleared(directories.task(one)) for one in old_tasks)

    of_workers, of_generations, of_tasks = await to_thread.run_sync(clear_all, abandon_on_cancel=True)
    if of_workers or of_generations or of_tasks:
        log.info("past_cleared", workers=of_workers, generations=of_generations, tasks=of_tasks, kept=keep)


def _old_tasks(there: Iterable[str], known: Fleet, keep: int) -> list[str]:
    """The tasks whose files go: the journal has forgotten them, and will not give their numbers out."""
    tasks = known.tasks
    needed = {task.id for task in (*tasks.open, *tasks.ended, *tasks.untold)}
    needed |= {agent.spec.task for agent in known.agents.values()}
    numbers = sorted(int(found[1]) for name in there if (found := _TASK.fullmatch(name)) is not None)
    old = (f"t{number}" for number in numbers[: max(0, len(numbers) - keep)] if number < tasks.next)
    return [one for one in old if one not in needed]


def _listed(place: Path) -> Collection[str]:
    try:
        return os.listdir(place)
    except FileNotFoundError:
        return ()
    except OSError as error:
        log.warning("past_not_listed", path=os.fspath(place), reason=str(error))
        return ()


def _is_removed(directories: Directories, name: str) -> bool:
    state, runtime = directories.agent_state(name), directories.agent_runtime(name)
    try:
        if is_locked(os.fspath(runtime)):
            return False
    except OSError as error:
        log.warning("past_not_cleared", path=os.fspath(runtime), reason=str(error))
        return False
    # The other one is by which it is found again, if this is broken off.
    return (not os.path.lexists(runtime) or _is_cleared(runtime)) and _is_cleared(state)


def _is_cleared(place: Path) -> bool:
    try:
        remove_tree(place)
    except OSError as error:
        log.warning("past_not_cleared", path=os.fspath(place), reason=str(error))
        return False
    return True
