"""How a run ended: as its shim says it, or as exit.json holds it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from phoenixd.core.causes import SHIM_CAUSES
from phoenixd.core.events.runs import AgentExited
from phoenixd.documents.hooks import full_disks

LONGEST = 1e10
"""Seconds; no run lived longer."""


def exit_event(agent: str, body: dict[str, Any], at_wall: float | None) -> AgentExited:
    """The end as an event. at_wall: when it was, where that is not now. Raises KeyError, TypeError and ValueError."""
    killed, said = body.get("killed") or [], str(body.get("cause") or "exit")
    return AgentExited(
        agent=agent,
        incarnation=int(body["incarnation"]),
        run_id=str(body["run_id"]),
        code=None if body.get("code") is None else int(body["code"]),
        signal=None if body.get("signal") is None else int(body["signal"]),
        cause=SHIM_CAUSES.get(said, "other"),
        killed=tuple(
            f"{one.get('pid')} {str(one.get('command'))[:60]}" for one in killed[:50] if isinstance(one, dict)
        ),
        at_wall=at_wall,
        note="" if said in SHIM_CAUSES else said[:100],
        full_disks=full_disks(body.get("full_disks")),
        lived=_seconds(body.get("lived")),
    )


def ended_at(record: dict[str, Any]) -> float | None:
    """When a run ended (wall), by its record; None where that is not said."""
    stamp = record.get("ended_at") or record.get("at")
    try:
        return datetime.fromisoformat(str(stamp)).timestamp()
    except ValueError:
        return None


def _seconds(value: object) -> float | None:
    """A length of time; None where it is none."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= LONGEST:
        return None
    return float(value)
