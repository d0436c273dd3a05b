"""What keeps doctor answering: every look has an end, and what did not answer is a finding of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from phoenixd.api.finding import Finding

T = TypeVar("T")
WITHIN = 6.0
"""Seconds that one look may take where a file system hangs, a terminal server is stopped, or a login shell waits: that
one has 5 of its own."""


async def within(look: Awaitable[T], otherwise: T, seconds: float = WITHIN) -> T:
    """What a look found, or something else where it does not come back in time."""
    with anyio.move_on_after(seconds):
        return await look
    return otherwise


async def bounded(
    what: str, remedy: str, look: Callable[[], Awaitable[list[Finding]]], seconds: float = WITHIN
) -> list[Finding]:
    """The findings of one look, or that it did not come back."""
    late = Finding("problem", f"{what} cannot be looked at", f"no answer in {seconds:g} s: something hangs", remedy)
    return await within(look(), [late], seconds)


def hung_tmux(pid: int | None, stopped: bool, agents: int) -> Finding:
    """The terminal server is there, and says nothing. pid: its process, where the kernel tells it."""
    if pid is None:
        remedy = "phoenixctl doctor"
    elif stopped:
        remedy = f"somebody stopped it; let it go on: kill -CONT {pid}"
    else:
        remedy = f"give it a minute; if it stays so, end it, and its agents are resumed in a new one: kill {pid}"
    living = f"{agents} agent{'' if agents == 1 else 's'} run on in it" if agents else "no agent runs in it"
    detail = f"{living}, unseen: nothing can be started, typed or shown until it answers"
    return Finding("problem", "tmux does not answer", detail, remedy)
