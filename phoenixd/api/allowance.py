"""How much an agent may ask: a bucket of tokens for each, so that one that asks without end holds up nobody else."""

from __future__ import annotations

from dataclasses import dataclass, field

BURST = 60.0
REFILL = 10.0
"""Connections and requests of one agent that are taken at once, and each second from then on."""
MOST_NAMES = 1000


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
