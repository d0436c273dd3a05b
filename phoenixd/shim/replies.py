"""Hook programs that wait for an answer: each reads one line from a FIFO of its own, beside the file that it dropped.

The agent can write to the directory, so a FIFO is opened without following or waiting, and must be one.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from reactor import Reactor

NO_ANSWER = b"{}"
ANSWERS_KEPT = 32
FLAGS = os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class Replies:
    """`on_released(number)` tells that a program waits no more, `on_answered(number, taken)` what came of an answer."""

    def __init__(
        self, reactor: Reactor, on_released: Callable[[int], None], on_answered: Callable[[int, bool], None]
    ) -> None:
        self._reactor = reactor
        self._on_released = on_released
        self._on_answered = on_answered
        self._waiting: dict[int, int] = {}

    @property
    def held(self) -> list[int]:
        return list(self._waiting)

    def hold(self, number: int, name: str, directory: int) -> None:
        """Keep the program behind this FIFO waiting; it may be gone already."""
        fd = _open(name, directory)
        if fd is None:
            self._on_released(number)
            return
        self._waiting[number] = fd
        # A mask of 0: only that the last reader has gone is of interest.
        self._reactor.watch(fd, 0, lambda _mask: self._gone(number))

    def answer(self, number: int, body: bytes) -> None:
        """Give the one line that the program waits for."""
        fd = self._forget(number)
        self._on_answered(number, fd is not None and _write(fd, body))

    def release_all(self) -> None:
        for number in list(self._waiting):
            fd = self._forget(number)
            if fd is not None:
                _write(fd, NO_ANSWER)
            self._on_released(number)

    def _gone(self, number: int) -> None:
        fd = self._forget(number)
        if fd is not None:
            os.close(fd)
            self._on_released(number)

    def _forget(self, number: int) -> int | None:
        fd = self._waiting.pop(number, None)
        if fd is not None:
            self._reactor.forget(fd)
        return fd


class Answers:
    """What became of the newest answers: the daemon that gave one may be gone before it has heard of it."""

    def __init__(self) -> None:
        self._came: dict[int, bool | None] = {}

    @property
    def told(self) -> list[list[int | bool]]:
        """The number of each request, and whether the agent took the answer; none of those where that is open."""
        return [[number, taken] for number, taken in self._came.items() if taken is not None]

    def begin(self, number: int) -> None:
        """An answer to this request has come; the first one counts."""
        self._came.setdefault(number, None)
        while len(self._came) > ANSWERS_KEPT:
            del self._came[next(iter(self._came))]

    def settle(self, number: int, taken: bool) -> None:
        """This became of it; what is said later of the same request is about another answer."""
        if number in self._came and self._came[number] is None:
            self._came[number] = taken


def give(name: str, directory: int, body: bytes = NO_ANSWER) -> None:
    """Let a program go on, with an answer or without."""
    fd = _open(name, directory)
    if fd is not None:
        _write(fd, body)


def _open(name: str, directory: int) -> int | None:
    try:
        fd = os.open(name, FLAGS, dir_fd=directory)
    except OSError:  # It is not there, or nobody reads it.
        return None
    if stat.S_ISFIFO(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    return None


def _write(fd: int, body: bytes) -> bool:
    """Write one line and close; whether somebody was there to read it."""
    try:
        return os.write(fd, body + b"\n") == len(body) + 1
    except OSError:
        return False
    finally:
        os.close(fd)
