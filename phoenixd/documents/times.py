"""Times as documents hold them: RFC 3339 in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime

LONGEST = 64
"""Characters; a longer text is no time, whatever it begins with."""


def timestamp(wall: float) -> str:
    """Wall seconds as `2026-11-21T10:00:00Z`."""
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def utc_date(wall: float) -> date:
    """The day of wall seconds, in UTC."""
    return datetime.fromtimestamp(wall, UTC).date()


def read_time(text: object) -> float | None:
    """Wall seconds of an ISO 8601 text with an offset; None for anything else.

    A time without a zone is none either: it may be hours off (F-HB-5).
    """
    if not isinstance(text, str) or len(text) > LONGEST:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        return moment.timestamp() if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def read_date(text: object) -> date | None:
    """The day that a text names, alone or at the head of a time; None for anything else."""
    if not isinstance(text, str) or len(text) > LONGEST:
        return None
    try:
        return date.fromisoformat(text.strip()[:10])
    except ValueError:
        return None
