"""Threads for what blocks at desks: a few that stay, so that nothing waits for one to be made, or for the loop to turn.

What anyio has for this goes through the loop three times before the work begins, and lets go of a thread after 10 s.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

import anyio

T = TypeVar("T")

Work = tuple[Callable[[], Any], asyncio.AbstractEventLoop, asyncio.Future[Any]]


class Threads:
    """`most` of them at once; work beyond that waits. They end with this object. For one event loop."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._made = self._busy = 0
        self._work: SimpleQueue[Work | None] = SimpleQueue()
        weakref.finalize(self, self._work.put, None)

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises. A caller that is cancelled meanwhile waits for its end all the same.

        Raises RuntimeError where no thread can be made for it.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._busy += 1
        try:
            if self._busy > self._made and self._made < self._most:
                # Where the host has none left, this work fails, and the next one tries again.
                threading.Thread(target=_serve, args=(self._work,), name=self._name, daemon=True).start()
                self._made += 1
            self._work.put((work, loop, future))
            with anyio.CancelScope(shield=True):
                await future
        finally:
            self._busy -= 1
        return future.result()


def _serve(queue: SimpleQueue[Work | None]) -> None:
    while (asked := queue.get()) is not None:
        work, loop, future = asked
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:  # noqa: BLE001  # It is raised where the work was asked for.
            error = raised
        # A loop that is closed has nobody left to tell.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, future, result, error)
        # Nothing of the work is held on to while the next one is waited for.
        del asked, work, loop, future, result, error
    queue.put(None)  # For the others.


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
