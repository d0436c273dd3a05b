"""When an agent was last seen to live, as its documents name it."""

from __future__ import annotations

from pathlib import Path

from phoenixd.core.agent import Agent
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.documents.times import timestamp
from phoenixd.memory.log_files import written_at
from phoenixd.memory.shelf import Shelf
from phoenixd.terrain import TERRAIN

SKEW = 60.0
"""Seconds by which a record in a transcript may be ahead of the clock; past that its time is none (F-HB-3)."""


def last_active(shelf: Shelf, agent: Agent, session: SessionFacts | None, now: float) -> str | None:
    """The newest sign of life: a heartbeat, what hooks told, a record in the transcript."""
    run = agent.run
    activity = getattr(agent.state, "activity", None)
    seen = [shelf.heartbeat_time(now)]
    if agent.spec.heartbeat_file is not None and TERRAIN.is_there(agent.spec.heartbeat_file):
        # Of evidence alone no desk is told: it is looked for, as in the file of its own.
        seen.append(min(now, written_at(Path(agent.spec.heartbeat_file))) or None)
    if run is not None and run.evidence and activity is not None:
        seen.append(activity.evidence_wall)
    if session is not None and session.newest_at is not None and session.newest_at <= now + SKEW:
        seen.append(min(session.newest_at, now))
    known = [when for when in seen if when is not None]
    return timestamp(max(known)) if known else None
