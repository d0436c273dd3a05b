"""Marks: a line in a file for each moment that a program comes by. Standard library alone: the shim loads it, too."""

from __future__ import annotations

import functools
import inspect
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Pen:
    """Opened at the first mark, since a shim closes at its start what it was given open."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1

    def mark(self, step: str, at: int = 0) -> None:
        """One write: of several processes and threads each line stays whole. at: when that was, else it is now."""
        at = at or time.monotonic_ns()
        if self._fd < 0:
            self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        os.write(self._fd, f"{at} {step}\n".encode())

    def at_begin(self, owner: Any, name: str, step: str, counts: Callable[..., bool] = lambda *args: True) -> None:
        """Mark each call of a function before it; `counts` is given its arguments."""
        inner = getattr(owner, name)

        @functools.wraps(inner)
        def marked(*args: Any, **named: Any) -> Any:
            if counts(*args):
                self.mark(step)
            return inner(*args, **named)

        setattr(owner, name, marked)

    def at_end(self, owner: Any, name: str, step: str, counts: Callable[..., bool] = lambda *args: True) -> None:
        """Mark each call of a function after it."""
        inner = getattr(owner, name)

        @functools.wraps(inner)
        def marked(*args: Any, **named: Any) -> Any:
            done = inner(*args, **named)
            if counts(*args):
                self.mark(step)
            return done

        @functools.wraps(inner)
        async def awaited(*args: Any, **named: Any) -> Any:
            done = await inner(*args, **named)
            if counts(*args):
                self.mark(step)
            return done

        setattr(owner, name, awaited if inspect.iscoroutinefunction(inner) else marked)
