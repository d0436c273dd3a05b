"""session.json: which harness session an agent is in, for people; and what the daemon remembers of its documents."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from phoenixd.core.agent import Agent
from phoenixd.documents.times import timestamp

SIZE_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True)
class Bookkeeping:
    """task: what the daemon derived as the current task when it wrote state.json last, so that an operator's edit of it
    can be told from a new task. resolved_bytes: how much of resolved.jsonl the state holds already."""

    task: str | None = None
    resolved_bytes: int = 0


def render_session(agent: Agent, kept: Bookkeeping) -> bytes:
    """Write the document; the journal is what decisions rest on, never this file."""
    session, run = agent.session, agent.run
    plain: dict[str, Any] = {
        "agent": agent.name,
        "session_id": session.session_id if session else None,
        "created": timestamp(session.created_wall) if session else None,
        "last_used": timestamp(session.active_wall) if session else None,
        "expires": timestamp(session.active_wall + agent.spec.resume.max_age) if session else None,
        "spoiled": session.spoiled if session else None,
        "turn_open": session.turn_open if session else False,
        "incarnation": agent.incarnation,
        "run_id": run.run_id if run else None,
        "mode": run.mode.value if run else None,
        "restarts": agent.restarts,
        "documents": {"task": kept.task, "resolved_bytes": kept.resolved_bytes},
    }
    return (json.dumps(plain, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def read_bookkeeping(content: bytes) -> Bookkeeping | None:
    """What an earlier daemon remembered; None when the file is no such document (F-RES-4)."""
    try:
        found = from_json(content, allow_inf_nan=False)
    except ValueError:
        return None
    kept = found.get("documents") if isinstance(found, dict) else None
    if not isinstance(kept, dict):
        return None
    task, size = kept.get("task"), kept.get("resolved_bytes")
    consumed = size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else 0
    return Bookkeeping(task if isinstance(task, str) else None, consumed)
