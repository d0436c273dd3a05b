"""memory/resonance_anchor_<agent>.json: the marker of an agent's session, and what became of each check of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from phoenixd.documents.resonance.reading import read_object, text_of, written
from phoenixd.documents.times import known_wall, read_time, timestamp, utc_date
from phoenixd.planting import Marker, parse

KEPT = 100
SESSION = "native_session_id"
"""A key of ours beside the seed's: the id by which the CLI knows the session."""
_KNOWN = ("marker", "session_id", "created_at", "last_verified", "verifications", "ended_at")


@dataclass(frozen=True, slots=True)
class Verification:
    """One check. action: what was done about a failure, such as `restoration_triggered`."""

    time: float
    success: bool
    action: str = ""


@dataclass(frozen=True, slots=True)
class Anchor:
    """Times are wall seconds. last_verified: the newest success; None: it was never verified (F-RE-14)."""

    marker: Marker
    session_id: str
    created_at: float
    last_verified: float | None = None
    verifications: tuple[Verification, ...] = ()
    ended_at: float | None = None
    others: Mapping[str, Any] = field(default_factory=dict)

    def verified(self, now: float, success: bool, action: str = "") -> Anchor:
        """The same after a check. A clock that was set back dates none before the anchor, nor before another check."""
        newest = max([self.created_at, *(one.time for one in self.verifications[-1:])])
        at = max(now, newest)
        kept = (*self.verifications, Verification(at, success, action))[-KEPT:]
        return replace(self, verifications=kept, last_verified=at if success else self.last_verified)


def key(agent: str) -> str:
    return f"resonance_anchor_{agent}"


def session_id(now: float, sequence: int) -> str:
    """The id of an agent's session: the UTC day, and which session of that day it is (R26)."""
    return f"{utc_date(now).isoformat()}-{sequence:03d}"


def parse_anchor(text: str) -> Anchor | None:
    """The anchor of a paper; None where it is torn, or its marker is none: it is then made anew, and never trusted."""
    table = read_object(text)
    marker = parse(text_of(table, "marker")) if table is not None else None
    created = read_time(table.get("created_at")) if table is not None else None
    if table is None or marker is None or created is None:
        return None
    return Anchor(
        marker=marker,
        session_id=text_of(table, "session_id"),
        created_at=created,
        last_verified=read_time(table.get("last_verified")),
        verifications=_verifications(table.get("verifications")),
        ended_at=read_time(table.get("ended_at")),
        others={name: value for name, value in table.items() if name not in _KNOWN},
    )


def render_anchor(anchor: Anchor) -> str:
    """The paper, in the seed's keys; keys that we do not know stand behind ours."""
    checks = [
        {"time": timestamp(one.time), "success": one.success, **({"action": one.action} if one.action else {})}
        for one in anchor.verifications
    ]
    return written(
        {
            "marker": str(anchor.marker),
            "session_id": anchor.session_id,
            "created_at": timestamp(anchor.created_at),
            "last_verified": None if anchor.last_verified is None else timestamp(anchor.last_verified),
            "verifications": checks,
            **({} if anchor.ended_at is None else {"ended_at": timestamp(anchor.ended_at)}),
            **anchor.others,
        }
    )


def _verifications(found: object) -> tuple[Verification, ...]:
    if not isinstance(found, list):
        return ()
    read = []
    for one in found[-KEPT:]:
        at = read_time(one.get("time")) if isinstance(one, dict) else None
        if at is not None and known_wall(at) is not None and isinstance(one.get("success"), bool):
            read.append(Verification(at, one["success"], text_of(one, "action")))
    return tuple(read)
