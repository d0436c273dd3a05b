"""When the screen of a run is looked at although nothing is overdue: the dialogs of a start fire no hook.

Until its first prompt is taken a run is looked at ever less often, 2, 4, 8 ... seconds after its start; after that
some seconds after each word of its hooks, and then every five minutes. An idle fleet costs no more than that.

While the link to its shim is lost no hook tells of anything, and its screen is all there is: it is looked at 2, 4, 8
... seconds after the loss, and then every minute.
"""

from __future__ import annotations

from phoenixd.core.agent import Agent, Deaf, Run, Running, Starting
from phoenixd.core.moment import Instant, Moment

FIRST, EVERY = 2.0, 300.0
"""Seconds from a start, or from what was heard last, to the first look; and between two looks at most."""

EVERY_DEAF = 60.0
"""Seconds between two looks at most while the link to its shim is lost."""


def start_due(agent: Agent, state: Starting) -> Instant | None:
    """When to look at a start of which no hook has told yet; `ready_by` has a look of its own."""
    if not agent.spec.has_hooks or state.run.pid is None or state.overdue:
        return None
    at = _next(state.run, state.activity.looked_at, state.activity.evidence_at)
    return at if at < state.ready_by else None


def due(agent: Agent, state: Running) -> Instant | None:
    """When to look at a run that asks nothing, as far as is known; None while a look for another reason comes."""
    activity = state.activity
    if not agent.spec.has_hooks or activity.waiting is not None or agent.limits.parking is not None:
        return None
    if state.run.deaf is not None:
        return _deaf(state.run.deaf, activity.looked_at)
    if state.run.prompt_seen:
        if activity.turn_open:
            # Its silence is looked at anyhow, more often than this.
            return None
        return activity.evidence_at + FIRST if activity.looked_at is None else activity.looked_at + EVERY
    return _next(state.run, activity.looked_at, activity.evidence_at)


def _deaf(deaf: Deaf, looked_at: Instant | None) -> Instant:
    if looked_at is None or looked_at < deaf.since:
        return deaf.since + FIRST
    return looked_at + min(EVERY_DEAF, max(FIRST, looked_at - deaf.since))


def since_exec(run: Run, now: Moment) -> float:
    """Seconds since the program began."""
    return now.at - (run.exec_at if run.exec_at is not None else run.began)


def _next(run: Run, looked_at: Instant | None, heard_at: Instant) -> Instant:
    """Soon after what was heard last, for a dialog comes when a program is up; then at ages that double."""
    began = run.exec_at if run.exec_at is not None else run.began
    if looked_at is None:
        return max(heard_at, began) + FIRST
    return looked_at + min(EVERY, max(FIRST, looked_at - began))
