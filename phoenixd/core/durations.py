"""Lengths of time as people write them, 90, 500ms, 15m, 1h30m, 1w: one table of units for files and for commands."""

from __future__ import annotations

import math
import re

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
MAX_DURATION = 7 * UNITS["d"]
"""Seconds that an argument may ask for at most."""
SHORTEST_MUTE = 1.0
LENGTHS = "a mute lasts for 1 second at least, and for 7 days at most"
DURATION_PATTERN = r"^([0-9]{1,9}(\.[0-9]{1,6})?(ms|s|m|h|d|w)){1,5}$|^[0-9]{1,12}(\.[0-9]{1,6})?$"
_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s|m|h|d|w)")
_WHOLE = re.compile(rf"(?:{_PART.pattern}){{1,5}}")
_SECONDS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,6})?")


def parse_duration(text: str) -> float:
    """Seconds; raises ValueError with words for the person who wrote it."""
    text = text.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    if not is_duration(text):
        raise ValueError(f'"{text[:40]}" is no duration; write seconds, or text like "500ms", "15m", "1h30m", "1w"')
    return math.fsum(float(amount) * UNITS[unit] for amount, unit in _PART.findall(text))


def parse_length(text: str) -> float:
    """Seconds of a length that a person types, who thinks of minutes at a bare 5; raises ValueError with words."""
    text = text.strip()
    if _SECONDS.fullmatch(text):
        raise ValueError(f"{text} has no unit: s, m, h or d")
    if not is_duration(text):
        raise ValueError(f'"{text[:40]}" is no duration; write text like "90s", "15m", "1h30m"')
    return parse_duration(text)


def is_duration(text: str) -> bool:
    """Whether a text has units, and so means a length rather than a time of day or a date."""
    return _WHOLE.fullmatch(text) is not None
