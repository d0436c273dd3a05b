"""How many connections there may be, each kind with places of its own, so that no kind can lock another out, and how
much one agent may ask.

All together are bounded by what a daemon with a hundred agents can spare of 1024 descriptors. A client that follows a
stream or waits for minutes counts among the operators, and leaves SHORT of their places to those who ask and go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from phoenixd.api.problems import Problem

AGENTS = 96
"""All agents together, and among them the callers of whom nobody knows where they come from."""
EACH_AGENT = 4
OPERATORS = 192
STREAMS = 64
"""Followers of events and of panes."""
SHORT = 16
"""Kept for requests that are answered at once, and for those that bring something to rest."""
WAITS = OPERATORS - STREAMS - SHORT

BURST = 60.0
REFILL = 10.0
"""Connections and requests of one agent that are taken at once, and each second from then on."""
MOST_NAMES = 1000

Kind = Literal["stream", "wait"]
LIMITS: dict[Kind, int] = {"stream": STREAMS, "wait": WAITS}
REFUSALS: dict[Kind, tuple[str, str]] = {
    "stream": (
        f"{STREAMS} followers of events and panes are connected",
        "end one, or read once, without --follow",
    ),
    "wait": (f"{WAITS} callers wait for an agent already", "ask without --wait, or end one of them"),
}


@dataclass(slots=True)
class Places:
    """The connections that are open: counts by kind."""

    taken: Counter[Kind] = field(default_factory=Counter)

    def check(self, kind: Kind) -> None:
        """Raise Problem (busy) where no place of this kind is left."""
        if self.taken[kind] >= LIMITS[kind]:
            raise Problem("busy", *REFUSALS[kind])

    @contextmanager
    def take(self, kind: Kind | None) -> Iterator[None]:
        """Hold a place, none for None; raises Problem (busy)."""
        if kind is None:
            yield
            return
        self.check(kind)
        self.taken[kind] += 1
        try:
            yield
        finally:
            self.taken[kind] -= 1


@dataclass(slots=True)
class Allowance:
    """Times are seconds of any steady clock."""

    burst: float = BURST
    refill: float = REFILL
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict)

    def take(self, name: str, now: float) -> bool:
        """Take a token of a name's; False when it has none left."""
        tokens, at = self._buckets.pop(name, (self.burst, now))
        tokens = min(self.burst, tokens + (now - at) * self.refill)
        has_one = tokens >= 1
        self._buckets[name] = (tokens - has_one, now)
        if len(self._buckets) > MOST_NAMES:
            del self._buckets[next(iter(self._buckets))]
        return has_one
