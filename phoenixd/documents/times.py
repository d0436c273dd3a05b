"""Times as documents hold them: RFC 3339 in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime

LONGEST = 64
"""Characters; a longer text is no time, whatever it begins with."""

FIRST, LAST = 0.0, 253_370_764_800.0
"""Wall seconds of the first days of 1970 and of 9999. No session ran outside of them, and whatever its zone, what lies
between them can be written as a date."""


def known_wall(wall: float) -> float | None:
    """Wall seconds that can be a time of ours; None for all others, and for what is no number."""
    return wall if FIRST <= wall < LAST else None


def timestamp(wall: float) -> str:
    """Wall seconds as `2026-11-21T10:00:00Z`."""
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def exact_time(wall: float) -> str:
    """The same to the microsecond, where what comes before and after is told by it."""
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def utc_date(wall: float) -> date:
    """The day of wall seconds, in UTC."""
    return datetime.fromtimestamp(wall, UTC).date()


def read_time(text: object) -> float | None:
    """Wall seconds of an ISO 8601 text with an offset, within `FIRST` and `LAST`; None for anything else.

    A time without a zone is none either: it may be hours off (F-HB-5).
    """
    if not isinstance(text, str) or len(text) > LONGEST:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        return known_wall(moment.timestamp()) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def require_time(text: str) -> str:
    """The same text where `read_time` knows it; raises ValueError with words for the person or model that wrote it."""
    if read_time(text) is None:
        raise ValueError(f"{text[:40]!r} is no time with a zone, such as 2026-01-31T10:00:00Z")
    return text


def read_date(text: object) -> date | None:
    """The day that a text names, alone or at the head of a time; None for anything else."""
    if not isinstance(text, str) or len(text) > LONGEST:
        return None
    try:
        return date.fromisoformat(text.strip()[:10])
    except ValueError:
        return None
