"""The process of the tmux server that we are connected to: a pidfd tells its end, whatever ended it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import structlog

from phoenixd.drivers.tmux.strays import have_socket_made

SOCKET_PATIENCE = 2.0
"""Seconds that a server which lives has to make its socket anew."""

log = structlog.get_logger("phoenixd.tmux")


class Lifetime:
    """Holds the server's pidfd, and calls once when it ends. An end that nobody could be told of yet is told later."""

    def __init__(self) -> None:
        self._ended: Callable[[], None] | None = None
        self._is_untold = False
        self._pid = 0
        self._pidfd = -1
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_alive(self) -> bool:
        """Whether a server is watched that has not ended."""
        return self._pidfd >= 0

    def speak_to(self, ended: Callable[[], None]) -> None:
        """Call `ended` at each end, and now where the server has ended since it was met: a daemon that begins hears of
        the server first, and speaks to the fleet later."""
        self._ended = ended
        if self._is_untold:
            self._is_untold = False
            ended()

    def follow(self, pid: int | None) -> None:
        """Watch the process that serves now. None: it cannot be told, and of its end nothing is said."""
        if pid is None or (pid == self._pid and self._pidfd >= 0):
            return
        self.close()
        try:
            self._pidfd = os.pidfd_open(pid)
        except OSError as error:
            log.warning("tmux_server_not_watched", pid=pid, reason=error.strerror)
            return
        self._pid, self._loop = pid, asyncio.get_running_loop()
        self._loop.add_reader(self._pidfd, self._tell)

    def close(self) -> None:
        if self._pidfd >= 0 and self._loop is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1

    async def makes_socket(self, listens: Callable[[], bool]) -> bool:
        """Have a server that lives listen at its path again, where nobody does; False where it is gone.

        Another one must not be started beside it: all agents are in this one.
        """
        if self._pidfd < 0 or not have_socket_made(self._pid):
            return False
        log.warning("terminal_socket_gone", pid=self._pid, remedy="the server makes it anew")
        loop = asyncio.get_running_loop()
        give_up, pause = loop.time() + SOCKET_PATIENCE, 0.002
        while not listens():
            if self._pidfd < 0 or loop.time() > give_up:
                return False
            # A socket that begins to listen announces itself by no event that a connecting side could wait for.
            await asyncio.sleep(pause)
            pause = min(0.1, pause * 1.5)
        return True

    def _tell(self) -> None:
        log.warning("tmux_server_ended", pid=self._pid)
        self.close()
        if self._ended is None:
            self._is_untold = True
        else:
            self._ended()
