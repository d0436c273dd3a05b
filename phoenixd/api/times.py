"""Times as people and machines write them: RFC 3339, points in the past like 18:00, ages and spans."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from phoenixd.core.durations import is_duration, parse_duration

AHEAD = 60.0
"""Seconds by which a time may be ahead: who spells one may round it, or have another clock."""
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?", re.ASCII)
_NUMBER = re.compile(r"(\d{1,3})\s*(?:([smhdw])[a-z]*)?", re.ASCII)


def rfc3339(wall: float | None) -> str | None:
    """Unix seconds as RFC 3339 UTC with milliseconds; None stays None, and so does what no calendar holds."""
    if wall is None:
        return None
    try:
        return datetime.fromtimestamp(wall, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return None


def parse_past(text: str, now: float, zone: tzinfo | None) -> float:
    """Unix seconds of a point in the past: a duration ago, a clock time, today, yesterday, a date or RFC 3339."""
    text = text.strip()
    # Without a zone it bears none: the offset of now is not that of each other day.
    local = datetime.fromtimestamp(now, zone)
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    if text == "today":
        return midnight.timestamp()
    if text == "yesterday":
        return (midnight - timedelta(days=1)).timestamp()
    if clock := _CLOCK.fullmatch(text):
        hour, minute, second = (int(part or 0) for part in clock.groups())
        if hour > 23 or minute > 59 or second > 59:
            raise ValueError(f"{text!r} is no time of day")
        moment = local.replace(hour=hour, minute=minute, second=second, microsecond=0)
        # A time of day that has yet to come today means yesterday's; see `is_yet_to_come`.
        return (moment if moment <= local else moment - timedelta(days=1)).timestamp()
    if is_duration(text):
        return max(0.0, now - parse_duration(text))
    try:
        moment = datetime.fromisoformat(text)
        found = (moment if moment.tzinfo else moment.replace(tzinfo=local.tzinfo)).timestamp()
    except (ValueError, OverflowError):
        raise ValueError(
            f"{text[:40]!r} is no time; write 8h, 18:00, today, yesterday, 2026-11-20, or 2026-11-20T18:00:00Z"
        ) from None
    if found > now + AHEAD:
        raise ValueError(f"{text[:40]} is yet to come: it is {local:%Y-%m-%d %H:%M:%S}")
    return found


def meant_past(text: str) -> str:
    """What `parse_past` takes in place of a text that it refuses: of a number, with its unit in a word or without, a
    length."""
    found = _NUMBER.fullmatch(text.strip())
    return f"{int(found[1])}{found[2] or 'h'}" if found else "8h"


def is_yet_to_come(text: str, now: float, zone: tzinfo | None) -> bool:
    """Whether a text is a time of day that today has yet to reach, so that `parse_past` goes back to yesterday's."""
    if _CLOCK.fullmatch(text.strip()) is None:
        return False
    local = datetime.fromtimestamp(now, zone)
    return datetime.fromtimestamp(parse_past(text, now, zone), zone).date() != local.date()


def ago(seconds: float) -> str:
    """An age in at most six columns, for a hundred days: 4s, 12m, 3h05m, 2d04h."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"


def span(seconds: float) -> str:
    """A measured length: 1.8 s, 41 s, 12m03s, then as `ago`."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f} s"
    if seconds < 60:
        return f"{int(seconds)} s"
    if seconds < 3600:
        return f"{int(seconds) // 60}m{int(seconds) % 60:02d}s"
    return ago(seconds)
