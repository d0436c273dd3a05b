"""Whose turn it is to be read: what shims say, a packet of each that has something to say, for a moment at a time.

All links stand in one epoll, which is one descriptor in the event loop. So a hundred shims that talk have one turn of
the loop, which ends after SPAN, and then a person's request has its own; and to leave all of them unread is one call.
"""

from __future__ import annotations

import asyncio
import select
import time
from collections import deque

from phoenixd.drivers.shims.link import Link

SPAN = 0.0005
"""Seconds for which packets are read before the loop looks at all else."""
AT_ONCE = 8
"""Links that are taken from the kernel at a time: those left over are the first of the next turn."""


class Reading:
    """Reads links in the order in which they had something to say; `hold` leaves what they say with the shims."""

    def __init__(self) -> None:
        # Made now: a first link that comes while no descriptor is left would never be read.
        self._epoll = select.epoll()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._links: dict[int, Link] = {}
        self._ready: deque[Link] = deque()
        self._held = self._paused = self._listens = False

    def take(self, link: Link) -> None:
        """Read this one in its turn, from now on until it is closed."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._listen()
        number = link.fileno()
        self._epoll.register(number, select.EPOLLIN)
        self._links[number] = link

    def forget(self, link: Link) -> None:
        """To be called before it is closed."""
        number = link.fileno()
        if self._links.pop(number, None) is not None and not self._epoll.closed:
            self._epoll.unregister(number)

    def hold(self, held: bool) -> None:
        """Leave what the shims say with them, or read on."""
        if held != self._held:
            self._held = held
            self._listen()

    def pause(self, paused: bool) -> None:
        """The same for a moment, whether they are held back for another reason or not.

        The loop hears of it once there is something that is left unread: most moments pass in silence.
        """
        self._paused = paused
        if not paused:
            self._listen()

    @property
    def is_left(self) -> bool:
        """Whether what the shims say is left with them now."""
        return self._held or self._paused

    @property
    def waiting(self) -> list[str]:
        """The agents whose shims have something to say."""
        return [link.agent for link in self._look(len(self._links))]

    def read_each(self) -> None:
        """Read a packet of each that has something to say, although they are held back."""
        self._ready.clear()
        for link in self._look(len(self._links)):
            link.read()

    def close(self) -> None:
        if not self._epoll.closed:
            self.hold(True)
            self._epoll.close()

    def _listen(self) -> None:
        if self._epoll.closed or self._loop is None or self._listens != self.is_left:
            return
        self._listens = not self.is_left
        if self._listens:
            self._loop.add_reader(self._epoll.fileno(), self._read)
        else:
            self._loop.remove_reader(self._epoll.fileno())

    def _read(self) -> None:
        if self.is_left:
            self._listen()
        until = time.monotonic() + SPAN
        while not self.is_left:
            if not self._ready:
                self._ready.extend(self._look(AT_ONCE))
            if not self._ready:
                return
            # One that was closed meanwhile reads nothing.
            self._ready.popleft().read()
            if time.monotonic() >= until:
                return

    def _look(self, most: int) -> list[Link]:
        """Those that have something to say, in order; the kernel puts each at the end again."""
        if self._epoll.closed or not most:
            return []
        return [link for number, _ in self._epoll.poll(0, most) if (link := self._links.get(number)) is not None]
