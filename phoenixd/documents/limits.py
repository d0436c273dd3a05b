"""When a limit is over, as hook inputs and transcripts tell it: by a field, else by the CLI's own sentence.

Only sentences that the CLI writes about itself are read (`last_assistant_message` of a turn that failed), never a
screen or a tool's output, where any text may stand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeGuard
from zoneinfo import ZoneInfo

from phoenixd.documents.times import known_wall, read_time

_MILLISECONDS = 1e11
_LARGEST = 1e300
"""Seconds from 1970. No time of ours is as far away as _MILLISECONDS: such a number counts milliseconds."""

_CLOCK = r"(?P<hour>1[0-2]|[1-9])(?::(?P<minute>[0-5]\d))? ?(?P<half>am|pm)"
_MONTH = "(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_DAY = rf"{_MONTH} (?P<day>[1-3]?\d)(?:st|nd|rd|th)?(?:, (?P<year>20\d\d))?"
_RESETS = re.compile(
    rf"\b(?:resets|try again) (?:at )?(?:{_DAY},? (?:at )?)?{_CLOCK}(?: \((?P<zone>[A-Za-z0-9_+/-]{{1,40}})\))?", re.I
)
_REGAIN = re.compile(r"regain access on (\d{4}-\d\d-\d\d) at (\d\d:\d\d) UTC")
_EPOCH = re.compile(r"limit reached\|(\d{10,13})\b")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def reset_time(payload: Mapping[str, Any], now: float) -> float | None:
    """The wall time at which the limit is over that a failed turn tells of; None where none can be read."""
    if (named := instant(payload.get("resets_at"))) is not None:
        return named
    after = payload.get("retry_after")
    if _is_number(after):
        return known_wall(now + after)
    words = payload.get("last_assistant_message") or payload.get("error_details")
    return reset_in_words(words, now) if isinstance(words, str) else None


def instant(value: object) -> float | None:
    """Unix seconds of a number (seconds or milliseconds) or of an RFC 3339 text."""
    if isinstance(value, str):
        return read_time(value)
    if not _is_number(value):
        return None
    return known_wall(value / 1000 if abs(value) >= _MILLISECONDS else float(value))


def _is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is one of a size that a float has; JSON has numbers of any length."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < _LARGEST


def reset_in_words(words: str, now: float) -> float | None:
    """The time that one of the CLI's sentences names: `resets 3pm (Europe/Berlin)`, `regain access on ...`,
    and Codex's `try again at 4:11 PM`."""
    words = words[:4096]
    if found := _EPOCH.search(words):
        return instant(int(found[1]))
    if found := _REGAIN.search(words):
        return instant(f"{found[1]}T{found[2]}:00+00:00")
    found = _RESETS.search(words)
    return _local_time(found.groupdict(), now) if found else None


def _local_time(named: Mapping[str, str | None], now: float) -> float | None:
    """The next such time of day, or that day; in the machine's own zone where none is named."""
    try:
        zone = ZoneInfo(named["zone"]) if named["zone"] else None
        here = datetime.fromtimestamp(now, UTC).astimezone(zone)
        hour = int(named["hour"] or 0) % 12 + (12 if (named["half"] or "").lower() == "pm" else 0)
        at = here.replace(hour=hour, minute=int(named["minute"] or 0), second=0, microsecond=0)
        if not named["month"]:
            return (at if at.timestamp() > now else at + timedelta(days=1)).timestamp()
        year, month = int(named["year"] or here.year), _MONTHS.index(named["month"].lower()) + 1
        at = at.replace(year=year, month=month, day=int(named["day"] or 0))
        if not named["year"] and at.timestamp() < now - 180 * 86400:
            at = at.replace(year=year + 1)
        return at.timestamp()
    except (ValueError, OverflowError, OSError, KeyError):
        # A zone that this machine does not know, or no such day: as good as not named.
        return None
