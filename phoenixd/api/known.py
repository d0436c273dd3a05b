"""What was found of processes and stays true as long as they live: who lies below no shim, and the terminal server.

Each is held by pidfd, so that its number is no other's. To find it anew at each call of an operator would cost
more than all else that a call costs. Of too many the oldest is held no longer: an outsider is forgotten, and found
again; a server is asked for by its number and its start from then on, for one that was forgotten would make an
operator of what an agent starts in it.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Set

MOST = 64
"""Processes held. Each is a descriptor."""


class Held:
    """A process held by pidfd; the pidfd is its own from now on."""

    def __init__(self, pid: int, pidfd: int) -> None:
        self.pid = pid
        self._pidfd = pidfd
        self._poll = select.poll()
        self._poll.register(pidfd, select.POLLIN)

    def lives(self) -> bool:
        return not self._poll.poll(0)

    def close(self) -> None:
        os.close(self._pidfd)


def hold(pid: int, is_the_one: Callable[[], bool]) -> Held | None:
    """Hold a process; None where it ended meanwhile, so that it is not the one, or there is nothing to hold it with."""
    try:
        held = Held(pid, os.pidfd_open(pid))
    except OSError:
        return None
    is_kept = False
    try:
        is_kept = is_the_one()
    finally:
        if not is_kept:
            held.close()
    return held if is_kept else None


class Known:
    """Outsiders lie below no shim, and bear no mark of an agent's. They never will: new parents come only from above,
    and a mark is borne from the start. Servers are parents of shims: an agent can have one replaced, and keep the one
    before alive."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._outsiders: dict[int, Held] = {}
        self._servers: dict[int, tuple[Held, Callable[[], bool]]] = {}
        self._unheld: dict[int, Callable[[], bool]] = {}
        self._placed: set[int] = set()

    def is_outside(self, pid: int) -> bool:
        """Whether it was found to lie outside, and is still the same process."""
        held = self._outsiders.get(pid)
        if held is None:
            return False
        if held.lives():
            return True
        self._outsiders.pop(pid).close()
        return False

    def add_outsider(self, held: Held) -> None:
        """Remember that a process lies outside; of too many the first is forgotten."""
        if (before := self._outsiders.pop(held.pid, None)) is not None:
            before.close()
        while len(self._outsiders) >= self._most:
            self._outsiders.pop(next(iter(self._outsiders))).close()
        self._outsiders[held.pid] = held

    @property
    def servers(self) -> frozenset[int]:
        """The terminal servers that were found and live, by pid."""
        for ended in [pid for pid, (held, _) in self._servers.items() if not held.lives()]:
            self._servers.pop(ended)[0].close()
        for pid in [pid for pid, is_there in self._unheld.items() if not is_there()]:
            del self._unheld[pid]
        return frozenset(self._servers) | frozenset(self._unheld)

    def add_server(self, held: Held, is_there: Callable[[], bool]) -> None:
        """Remember a terminal server for as long as it lives, whichever shims it has left.

        is_there: whether it lives, without a descriptor; slower, and asked of those alone that are held no longer.
        """
        self._unheld.pop(held.pid, None)
        if (before := self._servers.pop(held.pid, None)) is not None:
            before[0].close()
        while len(self._servers) >= self._most:
            oldest = next(iter(self._servers))
            let_go, self._unheld[oldest] = self._servers.pop(oldest)
            let_go.close()
        self._servers[held.pid] = held, is_there

    def unplaced(self, shims: Set[int]) -> Set[int]:
        """Those of these shims, which are all that live, whose parent is not known yet."""
        # The pid of one that is gone may be another's by the time of the next question.
        self._placed &= shims
        return shims - self._placed

    def place(self, shim: int) -> None:
        """Note that a shim's parent is known: it is one of the servers, or none of them was."""
        self._placed.add(shim)


KNOWN = Known()
