"""What waits for the loop, in its order, and whether it is a flood: who comes first, and what may come together."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import anyio

from phoenixd.core.decision import Refusal
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import EvidenceSeen, UsageSeen
from phoenixd.core.events.orders import StartRequested
from phoenixd.core.hooks import EVIDENCE, Hook
from phoenixd.ports import Clock

EVIDENCE_LIMIT = 5000
"""Waiting events beyond which mere evidence is dropped: the next one tells the same."""
CROWDED, ROOMY = 100, 50
"""More waiting events than this, and the shims are not read until so few are left: a shim keeps what decides and merges
what is mere evidence, which this queue cannot; and what stands in the queue waits for all of it."""
OF_FLOODS = (Hook, EvidenceSeen, UsageSeen)
FLOOD, AT_ONCE, SPACING = 200.0, 20, 0.05
"""FLOOD: more of these a second are a flood, once AT_ONCE are beyond that. From then on they come together for SPACING
seconds, or until it is crowded. A turn for each few costs a commit each, and the processors that agents and orders
need. Fewer are told to followers as they come."""
LONGEST_HOLD = 1.0
"""Seconds after which each shim is read once in any case, however much waits: what one of them says ends a wait."""


@dataclass(slots=True)
class Waiting:
    """An event that waits. done: told what became of a request. saved: called once it is durable."""

    event: Event
    done: Callable[[Refusal | None], None] | None = None
    saved: Callable[[], None] | None = None

    @property
    def is_of_a_flood(self) -> bool:
        return isinstance(self.event, OF_FLOODS)


@dataclass(slots=True)
class Pace:
    """Whether signs of life come as a flood: a bucket that FLOOD empties, and that is full soon after one began."""

    at: float
    level: float = 0.0

    @property
    def is_flood(self) -> bool:
        return self.level >= AT_ONCE

    def heard(self, signs: int, now: float) -> None:
        """This many more were heard by now."""
        left = max(0.0, self.level - FLOOD * (now - self.at))
        self.at, self.level = now, min(2.0 * AT_ONCE, left + signs)


class Arrivals:
    """The events that wait. has_news: whether the loop has something to say itself, which no flood puts off."""

    def __init__(self, clock: Clock, has_news: Callable[[], bool]) -> None:
        self._clock, self._has_news = clock, has_news
        self.on_crowded: Callable[[bool], None] = lambda crowded: None
        self.on_long_crowded: Callable[[], None] = lambda: None
        self.first: deque[Waiting] = deque()
        self.queue: deque[Waiting] = deque()
        self.over = anyio.Event()
        """Set once nothing more is decided on."""
        self._is_crowded, self._crowded_at = False, 0.0
        self._arrived = anyio.Event()
        self._pace, self._turned_at = Pace(clock.at()), 0.0
        self._leaves_floods = False
        self._enough = anyio.Event()
        """Set once something waits that is no hook, or so much that it is crowded."""

    def takes(self, event: Event) -> bool:
        """Whether one more event that nobody waits for is taken in; mere evidence may not be, for more will come."""
        return len(self.queue) <= EVIDENCE_LIMIT or not isinstance(event, (EvidenceSeen, UsageSeen, *EVIDENCE))

    def put(self, waiting: Waiting, *, first: bool = False, alone: bool = False) -> None:
        """Have it wait. first: before all that was told and waits. alone: it belongs together with no other."""
        if first:
            self.first.append(waiting)
        elif alone and isinstance(waiting.event, StartRequested):
            self.queue.insert(self._place_of_a_start(), waiting)
        else:
            self.queue.append(waiting)
        self._arrived.set()
        if first or not waiting.is_of_a_flood:
            self._enough.set()
        self.tell_how_crowded()

    def begin_with(self, event: Event) -> None:
        """Have it wait before all others."""
        self.first.appendleft(Waiting(event))
        self._arrived.set()
        self._enough.set()

    def wake(self) -> None:
        """Let the loop look for something to do."""
        self._arrived.set()

    def end(self) -> None:
        """What waits is for the next daemon."""
        self.over.set()
        self._arrived.set()
        self._enough.set()

    async def some(self) -> None:
        """Return once something has arrived since this was last asked."""
        await self._arrived.wait()
        self._arrived = anyio.Event()

    @property
    def waits(self) -> bool:
        """Whether anything waits."""
        return bool(self.first or self.queue)

    @property
    def is_flood(self) -> bool:
        """Whether nothing waits but what agents tell by the thousand."""
        is_bare = not (self.first or self._has_news())
        return is_bare and all(one.is_of_a_flood for one in self.queue)

    @property
    def stands_back(self) -> bool:
        """Whether a flood is to wait now: an operator is on the way with an order."""
        return self._leaves_floods

    def leave_floods(self, left: bool) -> None:
        """Have what agents tell by the thousand wait, or go on."""
        self._leaves_floods = left
        if not left:
            self._enough.set()

    async def gather(self) -> None:
        """In a flood, return once enough hooks have come for a turn, or anything else has."""
        now, self._enough = self._clock.at(), anyio.Event()
        self._pace.heard(0, now)
        if self._pace.is_flood and not self._is_crowded and self.is_flood:
            with anyio.move_on_after(max(0.0, self._turned_at + SPACING - now)):
                await self._enough.wait()
        while self._leaves_floods and self.is_flood and not self.over.is_set():
            self._enough = anyio.Event()
            await self._enough.wait()
        self._turned_at = self._clock.at()

    def stepped(self, signs: int) -> None:
        """This many signs of life were in the turn that was just stepped."""
        self._pace.heard(signs, self._clock.at())

    def tell_how_crowded(self) -> None:
        """Tell when it becomes crowded, stays so for long, and is not any more."""
        is_crowded = len(self.queue) > (ROOMY if self._is_crowded else CROWDED)
        if is_crowded and self._is_crowded and self._clock.at() - self._crowded_at > LONGEST_HOLD:
            self._crowded_at = self._clock.at()
            self.on_long_crowded()
        if is_crowded != self._is_crowded:
            self._is_crowded, self._crowded_at = is_crowded, self._clock.at()
            self._enough.set()
            self.on_crowded(is_crowded)

    def _place_of_a_start(self) -> int:
        """Behind all that may have ended or begun a run, and before signs of life, which do neither."""
        place = len(self.queue)
        while place and self.queue[place - 1].done is None and self.queue[place - 1].is_of_a_flood:
            place -= 1
        return place
