"""heartbeat.json as any hand may write it: the shim's full record, or a bare {"timestamp": ...}."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from phoenixd.documents.times import read_time

SKEW = 60.0
"""Seconds by which a timestamp may lie in the future before the writer's clock is called wrong (F-HB-3)."""

SIZE_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """One sign of life. `claimed` is the time that the writer put down, as wall seconds; None when it named none that
    can be believed, and then the time of the write counts. `skewed`: it named one that lies in the future. `stamp`:
    what it named, believed or not."""

    claimed: float | None
    run_id: str | None = None
    skewed: bool = False
    stamp: float | None = None


def read_heartbeat(content: bytes, now: float) -> Heartbeat | None:
    """Read a file's content; None when it is no JSON object (F-HB-2)."""
    found = heartbeat_record(content)
    if found is None:
        return None
    claimed = _claimed(found.get("timestamp"))
    skewed = claimed is not None and claimed > now + SKEW
    return Heartbeat(
        claimed=None if skewed else claimed,
        run_id=_word(found.get("run_id")),
        skewed=skewed,
        stamp=claimed,
    )


def heartbeat_record(content: bytes) -> dict[str, Any] | None:
    """The file's JSON object as it stands; None when it is none."""
    if len(content) > SIZE_LIMIT:
        return None
    try:
        found = from_json(content, allow_inf_nan=False)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _claimed(value: object) -> float | None:
    """Text with an offset, or seconds since the epoch; `date +%s%3N` gives milliseconds."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e14:
        return float(value) / 1000 if value > 1e11 else float(value)
    return read_time(value)


def _word(value: object) -> str | None:
    return value[:128] if isinstance(value, str) and value else None
