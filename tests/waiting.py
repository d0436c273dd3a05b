"""Waiting for a condition with a deadline, for what has no event to wait for."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
PAUSE = 0.02
LONGEST_PAUSE = 0.25
"""Seconds between two looks. The first comes soon; then a quarter of the wait so far, to leave the processors alone."""
PATIENCE = 60.0
"""Seconds: a machine whose cores are all busy has been seen to need half of it."""


async def eventually(condition: Callable[[], T | Awaitable[T]], timeout: float = PATIENCE, what: str = "") -> T:
    """Return the first true value of `condition`, which may be a coroutine function; TimeoutError names `what`."""
    began = time.monotonic()
    while True:
        value = condition()
        if inspect.isawaitable(value):
            value = await value
        if value:
            return value
        waited = time.monotonic() - began
        if waited > timeout:
            raise TimeoutError(f"not within {timeout} s: {what or inspect.getsource(condition).strip()}")
        await asyncio.sleep(pause_after(waited))


def eventually_sync(
    condition: Callable[[], T], timeout: float = PATIENCE, what: str = "", longest_pause: float = LONGEST_PAUSE
) -> T:
    """The same without an event loop. longest_pause: more where each look starts processes."""
    began = time.monotonic()
    while not (value := condition()):
        waited = time.monotonic() - began
        if waited > timeout:
            raise TimeoutError(f"not within {timeout} s: {what or inspect.getsource(condition).strip()}")
        time.sleep(pause_after(waited, longest_pause))
    return value


def pause_after(waited: float, longest: float = LONGEST_PAUSE) -> float:
    return min(max(waited / 4, PAUSE), longest)
