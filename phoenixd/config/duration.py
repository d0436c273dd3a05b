"""Durations as values of the configuration: as text or as a number of seconds, and within ten years."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from phoenixd.core.durations import DURATION_PATTERN, UNITS
from phoenixd.core.durations import parse_duration as read_text

LONGEST = 3660 * 86400.0
"""Ten years: whatever is longer is a slip of the hand, and must not overflow a deadline."""


def parse_duration(value: object) -> float:
    """Return seconds; raises ValueError with words for the operator."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError('a duration is a number of seconds or text such as "15m" or "1h30m"')  # noqa: TRY004
    seconds = read_text(value) if isinstance(value, str) else value
    # An integer of TOML may be too large for a float, so it is compared before it is converted.
    if not 0 <= seconds <= LONGEST:
        raise ValueError("a duration lies between 0 and ten years")
    return float(seconds)


def format_duration(seconds: float) -> str:
    """Write seconds in the largest whole units: 5400 is "1h30m"."""
    if seconds != int(seconds):
        return f"{seconds:g}s"
    rest, text = int(seconds), ""
    for unit in ("d", "h", "m", "s"):
        count, rest = divmod(rest, int(UNITS[unit]))
        text += f"{count}{unit}" if count else ""
    return text or "0s"


def _validate(value: Any) -> float:
    try:
        return parse_duration(value)
    except ValueError as error:
        raise PydanticCustomError("duration", "{reason}", {"reason": str(error)}) from None


Duration = Annotated[
    float,
    BeforeValidator(_validate),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0},
                {"type": "string", "pattern": DURATION_PATTERN},
            ]
        }
    ),
]
