"""Waiting for a condition with a deadline, for what has no event to wait for."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
PAUSE = 0.01
LONGEST_PAUSE = 0.05
"""Seconds between two looks: the first comes soon, and a long wait leaves the processors to what it waits for."""
PATIENCE = 60.0
"""Seconds: a machine whose cores are all busy has been seen to need half of it."""


async def eventually(condition: Callable[[], T | Awaitable[T]], timeout: float = PATIENCE, what: str = "") -> T:
    """Return the first true value of `condition`, which may be a coroutine function; TimeoutError names `what`."""
    deadline, pause = time.monotonic() + timeout, PAUSE
    while True:
        value = condition()
        if inspect.isawaitable(value):
            value = await value
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {timeout} s: {what or inspect.getsource(condition).strip()}")
        await asyncio.sleep(pause)
        pause = min(1.5 * pause, LONGEST_PAUSE)


def eventually_sync(condition: Callable[[], T], timeout: float = PATIENCE, what: str = "") -> T:
    """The same without an event loop."""
    deadline, pause = time.monotonic() + timeout, PAUSE
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {timeout} s: {what or inspect.getsource(condition).strip()}")
        time.sleep(pause)
        pause = min(1.5 * pause, LONGEST_PAUSE)
    return value
