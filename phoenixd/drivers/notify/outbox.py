"""Messages that wait for a route: as many as fit, the oldest given up first, and that is told."""

from __future__ import annotations

from collections import deque

import anyio
import structlog

from phoenixd.drivers.notify.notifier import Message, Settled

log = structlog.get_logger("phoenixd.notify")


class Outbox:
    """What waits for a route; bounded, so that one that is down cannot fill the daemon's memory."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self._size = size
        self._waiting: deque[Message] = deque()
        self._under_way: set[int] = set()
        """The numbers of the alerts that are being told."""
        self._arrived = anyio.Event()
        self.fails = False
        """Whether the newest message of it was not told, for good."""
        self.settled: Settled = lambda message, problem: None

    def offer(self, message: Message) -> None:
        """Take a message; where there is no room the oldest goes: the newest says what is wrong now."""
        if len(self._waiting) >= self._size:
            oldest, reason = self._waiting.popleft(), f"{self._size} others wait already"
            log.error("alert_given_up", route=self.name, id=oldest.id, reason=reason)
            self.settled(oldest, reason)
        self._waiting.append(message)
        self._arrived.set()

    async def take(self) -> Message:
        """The message that waits for longest; waits for one, as others may at the same time.

        The end of an alert waits until its beginning is `done`: else it could be told first.
        """
        while (message := self._next()) is None:
            # One event for all who wait: an event of each one's own would wake the last of them alone.
            if self._arrived.is_set():
                self._arrived = anyio.Event()
            await self._arrived.wait()
        self._waiting.remove(message)
        self._under_way.add(message.id)
        return message

    def done(self, message: Message, problem: str | None) -> None:
        """A message that was taken is told, or never will be, for this problem."""
        self._under_way.discard(message.id)
        self._arrived.set()
        self.fails = problem is not None
        self.settled(message, problem)

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing waits, and nothing is being told."""
        return not self._waiting and not self._under_way

    def _next(self) -> Message | None:
        return next((one for one in self._waiting if one.id not in self._under_way), None)
