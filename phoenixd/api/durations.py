"""Lengths of time as people write them: 90, 45s, 15m, 1h30m. Not in `times`: phoenixctl needs no calendar."""

from __future__ import annotations

import re

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
DURATION_PATTERN = r"^([0-9]+(\.[0-9]+)?[smhdw]){1,5}$|^[0-9]+(\.[0-9]+)?$"
_PART = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)(s|m|h|d|w)", re.ASCII)
_DURATION = re.compile(r"(?:\d{1,9}(?:\.\d{1,6})?(?:s|m|h|d|w)){1,5}", re.ASCII)
_SECONDS = re.compile(r"\d{1,9}(?:\.\d{1,6})?", re.ASCII)


def parse_duration(text: str) -> float:
    """Seconds from `90`, `15m`, `1h30m`; raises ValueError."""
    text = text.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    if not is_duration(text):
        raise ValueError(f"{text[:40]!r} is no duration; write 90, 45s, 15m, 2h or 1h30m")
    return sum(float(amount) * UNITS[unit] for amount, unit in _PART.findall(text))


def is_duration(text: str) -> bool:
    """Whether a text has units, and so means a length rather than a time of day or a date."""
    return _DURATION.fullmatch(text) is not None
