"""Durations as people write them: "15m", "1h30m", or plain seconds."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

LONGEST = 3660 * 86400.0
"""Ten years: whatever is longer is a slip of the hand, and must not overflow a deadline."""

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s|m|h|d)")
_WHOLE = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{1,6})?(?:ms|s|m|h|d)){1,5}")
_PLAIN = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,6})?")


def parse_duration(value: object) -> float:
    """Return seconds; raises ValueError with words for the operator."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError('a duration is a number of seconds or text such as "15m" or "1h30m"')  # noqa: TRY004
    seconds = _read_text(value.strip()) if isinstance(value, str) else value
    # An integer of TOML may be too large for a float, so it is compared before it is converted.
    if not 0 <= seconds <= LONGEST:
        raise ValueError("a duration lies between 0 and ten years")
    return float(seconds)


def format_duration(seconds: float) -> str:
    """Write seconds in the largest whole units: 5400 is "1h30m"."""
    if seconds != int(seconds):
        return f"{seconds:g}s"
    rest, text = int(seconds), ""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        text += f"{count}{unit}" if count else ""
    return text or "0s"


def _read_text(text: str) -> float:
    if _PLAIN.fullmatch(text):
        return float(text)
    if not _WHOLE.fullmatch(text):
        raise ValueError(f'"{text[:40]}" is no duration; write seconds, or text such as "15m" or "1h30m"')
    return math.fsum(float(number) * UNITS[unit] for number, unit in _PART.findall(text))


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
                {"type": "string", "pattern": r"^([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+$|^[0-9]+(\.[0-9]+)?$"},
            ]
        }
    ),
]
