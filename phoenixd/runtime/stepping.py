"""What one turn of the loop steps: which of the events that wait, in which order, and for how long."""

from __future__ import annotations

from collections import deque

from anyio.lowlevel import cancel_shielded_checkpoint

from phoenixd.core.events import Event
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.step import as_heard, step
from phoenixd.documents.redact import CleanOf
from phoenixd.ports import Clock
from phoenixd.runtime.arrivals import Arrivals, Waiting
from phoenixd.runtime.turn import Turn

TURN_LIMIT = 1000
"""Events that are taken into one commit at most."""
TURN_SPAN = 0.01
"""Seconds for which a turn steps at most: of a hundred deaths at once the first ones are acted upon meanwhile, and an
order that comes now waits no longer than that. Requests that belong together are never parted."""
STEP_SPAN = 0.0005
"""Seconds for which it steps before all else in the loop has its turn: on its way an order passes through the loop a
dozen times. An order that is there by then ends the turn."""


class Stepping:
    """Steps what waits. fleet: as it is after the newest step."""

    def __init__(self, fleet: Fleet, clock: Clock, arrivals: Arrivals) -> None:
        self.fleet = fleet
        self.put_off: Turn | None = None
        """A turn of a flood that stood back before its commit: the next one goes on with it."""
        self._clock, self._arrivals = clock, arrivals
        self._ordered_last = False
        """The turn before was one of those that go first."""

    async def turn(self, news: Event | None, clean: CleanOf) -> tuple[Turn, Moment]:
        """Step what belongs into one turn. news: what the loop has to say itself, before all that waits."""
        is_gone_on_with = self.put_off is not None
        turn, self.put_off = self.put_off or Turn(), None
        first, queue, now = self._arrivals.first, self._arrivals.queue, self._clock.now()
        if news is not None:
            first.appendleft(Waiting(news))
        began: Instant | None = None
        paused: Instant = now.at
        waits = self._next()
        is_flood = self._arrivals.is_flood
        may_end, self._ordered_last, signs = not self._ordered_last, waits is first, 0
        for _ in range(min(len(waits), TURN_LIMIT)):
            now = self._clock.now()
            if began is None:
                began = paused = now.at
            elif waits is queue and waits[0].done is None:
                if now.at - began > TURN_SPAN:
                    break
                if now.at - paused > STEP_SPAN:
                    await cancel_shielded_checkpoint()
                    if is_flood and self._arrivals.stands_back:
                        # Once, so that looks without a pause put off no commit for ever.
                        self.put_off = None if is_gone_on_with else turn
                        break
                    if first:
                        break
                    paused = now.at
            waiting = waits.popleft()
            signs += waiting.is_of_a_flood
            heard = as_heard(self.fleet, waiting.event)
            result = step(self.fleet, heard, now)
            turn.take(waiting, heard, result, self.fleet.epoch, now, clean)
            self.fleet = result.fleet
            if waiting.done is not None and may_end and waits and waits[0].done is None:
                # Nor does its commit wait for what stands behind it, unless the turn before was one for an order.
                self._ordered_last = True
                break
        if waits is queue:
            self._arrivals.stepped(signs)
        return turn, now

    def _next(self) -> deque[Waiting]:
        """Those that the turn is for.

        What goes first has a turn and a commit of its own: its answer waits for nothing that stood behind it. But the
        turn after it is for what waits: orders that are given without a pause would keep deaths and deadlines out.
        """
        first, queue = self._arrivals.first, self._arrivals.queue
        if self._ordered_last and queue and first and first[0].done is not None:
            return queue
        return first or queue
