"""How often something may be done that anybody can ask for in a loop."""

from __future__ import annotations

from dataclasses import dataclass, replace

from phoenixd.core.moment import Instant


@dataclass(frozen=True, slots=True)
class Pace:
    """At most `most` times within any `window` seconds. done: when it was done last, the oldest first."""

    most: int
    window: float
    done: tuple[Instant, ...] = ()

    def due(self, now: Instant) -> Instant:
        """When it may be done again: now, or once the oldest of the last `most` is a window ago."""
        return max(now, self.done[0] + self.window) if len(self.done) >= self.most else now

    def did(self, now: Instant) -> Pace:
        """The same, after it was done."""
        return replace(self, done=(*self.done, now)[-self.most :])
