"""Which agents count as declared where the journal is older than the world."""

from __future__ import annotations

from phoenixd.core.events.fleet import JournalBehind
from phoenixd.core.spec import AgentSpec
from phoenixd.core.tasks.state import Tasks


def specs(tasks: Tasks, event: JournalBehind) -> tuple[AgentSpec, ...]:
    """Those of the configuration, and the workers of tasks that live though the journal knows none of them."""
    living = {trace.agent for trace in event.world.traces if trace.living is not None}
    workers = (task.spec for task in tasks.open if task.spec is not None and task.agent in living)
    return (*event.specs, *workers)
