"""The end of a daemon that was told to end: what was decided is saved first, as long as that is worth the wait."""

from __future__ import annotations

import structlog

from phoenixd.runtime.supervisor import Supervisor

LAST_COMMITS = 20.0
"""Seconds for which the end waits for decisions that are not saved yet; less than `phoenixctl down` waits for it."""

log = structlog.get_logger()


async def finish(supervisor: Supervisor) -> None:
    """Have the last decisions saved, however slow the disk is; where it is too slow, say what may be lost."""
    unsaved = await supervisor.finish(LAST_COMMITS)
    if unsaved:
        log.error(
            "decisions_unsaved",
            rows=len(unsaved),
            agents=sorted({row.agent for row in unsaved if row.agent is not None}),
            reason=supervisor.degraded or "the commit of the newest decision is late",
            remedy="the next start finds out what was done; see it with: phoenixctl up, then phoenixctl status",
        )
