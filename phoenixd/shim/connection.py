"""One connection to the hook endpoint, and how long it may be there for how little.

Whoever has not shown the token of the living run has one of few places, for a second from its first byte, and gives
way to the next newcomer; who has said nothing yet has a moment to say it first.
"""

from __future__ import annotations

import time

import httpwire
from scan import Scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

PLACES = 4
STRANGER_SECONDS = 1.0
# From accept to the first byte: a busy host may let a process wait that long between connecting and speaking.
MOMENT = 0.1
# From the first byte of a request to its last. A connection between requests may stay: closing it just when the agent
# posts would lose a hook. The one unused for longest goes when room is needed.
REQUEST_SECONDS = 10.0


class Connection:
    """is_foreign: another user made it. is_known: it has shown the token. since: when it was accepted."""

    __slots__ = ("answered", "answers", "began", "closing", "held", "is_foreign", "is_known", "keep_alive", "over_tcp",
                 "parser", "since", "socket", "waits_for_room")  # fmt: skip

    def __init__(
        self,
        accepted: socket.socket,
        over_tcp: bool,
        is_foreign: bool,
        admit: Callable[[Connection, httpwire.Head], None],
    ) -> None:
        self.socket = accepted
        self.over_tcp = over_tcp
        self.is_foreign = is_foreign
        self.is_known = False
        self.since = time.monotonic()
        self.parser = httpwire.Parser(lambda head: admit(self, head), Scan)
        self.answers = bytearray()
        self.began: float | None = None
        self.closing = False
        self.waits_for_room = False
        # The number of the event whose answer is held back, and of the one that was answered just now; 0 for none.
        self.held = 0
        self.answered = 0
        self.keep_alive = False

    @property
    def limit(self) -> float | None:
        """When it has to go; None where nothing is expected of it."""
        if self.is_known:
            return None if self.began is None else self.began + REQUEST_SECONDS
        return self.since + REQUEST_SECONDS if self.began is None else self.began + STRANGER_SECONDS

    @property
    def settled_at(self) -> float:
        """Until when a stranger need not give way."""
        return self.since if self.is_foreign or self.began is not None else self.since + MOMENT

    def gives_way(self, now: float) -> bool:
        return self.settled_at <= now
