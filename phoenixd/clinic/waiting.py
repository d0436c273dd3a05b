"""How long to wait before a request is made again: with jitter, and never less than the provider asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MOST_DOUBLINGS = 30


@dataclass(frozen=True, slots=True)
class Pauses:
    """Seconds. first: the longest first pause, doubled with each; longest: where that ends. rate_limit: after a rate
    limit that names no time. longest_asked: of a provider that asks for more, the run is given up."""

    first: float = 1.0
    longest: float = 60.0
    rate_limit: float = 60.0
    longest_asked: float = 300.0

    def __post_init__(self) -> None:
        for name in ("first", "longest", "rate_limit", "longest_asked"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"Pauses({name}={value!r}): give seconds, 0 or more")


def pause(pauses: Pauses, attempt: int, error: BaseException, is_rate_limit: bool, draw: Callable[[], float]) -> float:
    """Seconds until the next run. attempt: pauses before this one; draw: a number from 0 to 1."""
    most = min(pauses.longest, pauses.first * 2.0 ** min(attempt, MOST_DOUBLINGS))
    jitter = draw() * most
    asked = asked_for(error)
    if asked is None and is_rate_limit:
        asked = pauses.rate_limit
    # On top of what was asked for: all that were refused together would otherwise come back together.
    return jitter if asked is None else asked + min(jitter, asked / 10 + pauses.first)


def asked_for(error: BaseException) -> float | None:
    """Seconds that the provider asked to wait for; None where it named none."""
    found = [seconds for one in _within(error) if (seconds := _seconds(one)) is not None]
    return max(found) if found else None


def _within(error: BaseException) -> Iterator[BaseException]:
    """The error, or those of a group."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _within(one)
    else:
        yield error


def _seconds(error: BaseException) -> float | None:
    headers: Any = getattr(error, "headers", None)
    # Older releases of pydantic-ai keep the header and have no attribute for it.
    told: Any = getattr(error, "retry_after", None)
    if told is None and isinstance(headers, Mapping):
        told = headers.get("retry-after")
    try:
        seconds = float(told)
    except (TypeError, ValueError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
