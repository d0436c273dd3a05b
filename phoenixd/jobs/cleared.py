"""The directories of workers that were removed: of the newest they are kept, and a fleet has thousands in a year.

A daemon looks through all of them at its start. What a worker made and reported stands in STATE_DIR/tasks, and stays.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

import structlog
from anyio import to_thread

from phoenixd.core.fleet import Fleet
from phoenixd.core.tasks.names import beyond
from phoenixd.directories import Directories
from phoenixd.runs import is_locked

KEPT = 1000
"""Not a time, for a clock may jump."""
INTERVAL = 3600.0

log = structlog.get_logger()


async def clear(directories: Directories, fleet: Callable[[], Fleet], keep: int = KEPT) -> None:
    """Remove what the oldest workers left of themselves, if they were removed and nothing of them lives."""
    known = fleet()
    busy = {*known.agents, *(task.agent for task in known.tasks.open)}
    gone = known.retired.keys() - busy
    removed = await to_thread.run_sync(lambda: _clear(directories, gone, keep), abandon_on_cancel=True)
    if removed:
        log.info("workers_cleared", count=removed, kept=keep)


def _clear(directories: Directories, gone: frozenset[str] | set[str], keep: int) -> int:
    try:
        there = os.listdir(directories.agent_state("a").parent)
    except OSError as error:
        log.warning("agents_not_listed", reason=str(error))
        return 0
    return sum(_is_removed(directories, name) for name in beyond(gone.intersection(there), keep))


def _is_removed(directories: Directories, name: str) -> bool:
    state, runtime = directories.agent_state(name), directories.agent_runtime(name)
    try:
        if is_locked(os.fspath(runtime)):
            return False
        # The other one is by which it is found again, if this is broken off.
        if os.path.lexists(runtime):
            shutil.rmtree(runtime)
        shutil.rmtree(state)
    except OSError as error:
        log.warning("worker_not_cleared", agent=name, reason=str(error))
        return False
    return True
