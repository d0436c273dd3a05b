"""A bound on the hooks of one agent that are journaled: what comes too fast waits, the newest of each kind.

An agent can post thousands of hooks a second, and each would be a row in the journal for a month. A bucket of tokens
lets the ordinary through at once. Of the surplus the newest of each kind is kept, with the count of those it stands
for, and all that wait are passed on together in the order in which they came. So what an agent did last is never lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from phoenixd.core.change import replace
from phoenixd.core.hooks import EVIDENCE, HookEvent
from phoenixd.core.moment import Instant
from phoenixd.ports import Clock, Later, Saved, Tell

BURST = 120.0
REFILL = 1.0
"""Rows that an agent's hooks may cause at once, and each second from then on."""
SOON = 0.1
"""Seconds that what waits is left to gather at least."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: Instant
    waiting: dict[str, tuple[HookEvent, Saved | None]] = field(default_factory=dict)
    """By kind, in the order in which the newest of each came."""
    is_due: bool = False
    is_gone: bool = False
    """Its agent was removed, and nothing was heard since."""


class HookThrottle:
    """Passes hooks on to `tell`. later: calls back when a hook that waits is due."""

    def __init__(self, clock: Clock, later: Later, tell: Tell, burst: float = BURST) -> None:
        self._clock = clock
        self._later = later
        self._tell = tell
        self._burst = burst
        self._buckets: dict[str, _Bucket] = {}

    def offer(self, event: HookEvent, saved: Saved | None) -> None:
        """Pass a hook on, now or soon."""
        bucket = self._refilled(event.agent)
        bucket.is_gone = False
        is_evidence = isinstance(event, EVIDENCE)
        if not bucket.waiting and (is_evidence or bucket.tokens >= 1):
            bucket.tokens -= not is_evidence
            self._tell(event, saved)
            return
        older = bucket.waiting.pop(event.kind, None)
        if older is not None and not is_evidence and older[0].incarnation == event.incarnation:
            event = replace(event, more=older[0].more + 1 + event.more)
        bucket.waiting[event.kind] = (event, saved)
        self._wait(event.agent, bucket)

    def flush(self, agent: str) -> None:
        """Pass on what waits: something is about to be told that must not overtake it."""
        bucket = self._buckets.get(agent)
        if bucket is None or not bucket.waiting:
            return
        waiting, bucket.waiting = bucket.waiting, {}
        # All together: an acknowledgement holds for everything with a smaller number.
        for event, saved in waiting.values():
            bucket.tokens -= not isinstance(event, EVIDENCE)
            self._tell(event, saved)

    def forget(self, agent: str) -> None:
        """It was removed; what of it waits is passed on in its time, and nothing is kept of it then."""
        bucket = self._buckets.get(agent)
        if bucket is None:
            return
        bucket.is_gone = True
        self._drop(agent, bucket)

    def _drop(self, agent: str, bucket: _Bucket) -> None:
        if bucket.is_gone and not bucket.waiting and not bucket.is_due:
            del self._buckets[agent]

    def _wait(self, agent: str, bucket: _Bucket) -> None:
        if bucket.is_due:
            return
        bucket.is_due = True

        def due() -> None:
            bucket.is_due = False
            if self._refilled(agent).tokens >= 1:
                self.flush(agent)
            elif bucket.waiting:
                self._wait(agent, bucket)
            self._drop(agent, bucket)

        self._later(max(SOON, (1 - bucket.tokens) / REFILL), due)

    def _refilled(self, agent: str) -> _Bucket:
        now = self._clock.now().at
        bucket = self._buckets.setdefault(agent, _Bucket(self._burst, now))
        bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.at) * REFILL)
        bucket.at = now
        return bucket
