"""The instant of a decision: supervised time, wall time, and the chance that goes with it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

Instant = float
"""Seconds of supervised time: it stands still while the daemon is down, the host is suspended or the loop was
stopped, so a deadline can never pass while nobody was watching."""


@lru_cache(1024)
def in_words(seconds: float) -> str:
    """A length of time as a reason tells it: 45 s, 30 min, 2 h, 1 h 5 min."""
    if not math.isfinite(seconds):
        return "an endless time"
    whole = round(seconds)
    if whole < 60 or (whole < 120 and whole % 60):
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10 and rest:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(round(whole / 60), 60)
    return " ".join(f"{count} {unit}" for count, unit in ((hours, "h"), (minutes, "min")) if count)


def between(begins: float, until: float) -> str:
    """How long it is from one wall time to another, as who reads both from clocks that show whole seconds adds up."""
    return in_words(max(0, math.floor(until) - math.floor(begins)))


def measured(seconds: float) -> str:
    """A measured length of time as a reason tells it: 0.3 s, 41.0 s, then as `in_words`."""
    return f"{seconds:.1f} s" if seconds < 60 else in_words(seconds)


@dataclass(frozen=True, slots=True)
class Moment:
    """When a decision is made.

    at: supervised seconds, never goes back; all deadlines and ages use it.
    wall: Unix seconds UTC, for people and for times that others name; it may jump.
    chance: one uniform draw from [0, 1) for jitter.
    nonce: fresh random text, from which identifiers are derived.
    """

    at: Instant
    wall: float
    chance: float = 0.5
    nonce: str = ""

    def new_id(self, *purpose: object) -> str:
        """Derive an identifier in UUID form for `purpose`; the same moment and purpose give the same one."""
        digest = sha256("\0".join((self.nonce, *map(str, purpose))).encode()).hexdigest()
        variant = "89ab"[int(digest[16], 16) % 4]
        return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"
