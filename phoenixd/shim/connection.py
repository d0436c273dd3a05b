"""The connections to the hook endpoint: how long each may be there for how little, and who gives way to whom.

A client that has not shown the token of the living run has one of few places, for a second from its first byte, and
gives way to the next newcomer. One that has said nothing yet has a moment to say it first.
"""

from __future__ import annotations

import time

import httpwire
from reactor import READABLE
from scan import Scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from reactor import Reactor
    from refusals import Refusals

MAX_KNOWN = 32
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


class Connections:
    """All of them, by descriptor. `serve` takes in what one has sent, `drop` ends it; both are the endpoint's."""

    def __init__(
        self,
        reactor: Reactor,
        refusals: Refusals,
        serve: Callable[[Connection, int], None],
        drop: Callable[[Connection], None],
    ) -> None:
        self._reactor = reactor
        self._refusals = refusals
        self._serve = serve
        self._drop = drop
        self.by_fd: dict[int, Connection] = {}  # The one unused for longest comes first.
        self._paused: list[socket.socket] = []

    @property
    def each(self) -> list[Connection]:
        return list(self.by_fd.values())

    @property
    def is_crowded(self) -> bool:
        """Whether more have shown the token than have a place."""
        return sum(one.is_known for one in self.by_fd.values()) > MAX_KNOWN

    def touch(self, fd: int) -> None:
        """It was used just now."""
        if fd in self.by_fd:
            self.by_fd[fd] = self.by_fd.pop(fd)

    def resume_soon(self) -> None:
        """A place is free."""
        if self._paused:
            self._reactor.at("places", time.monotonic(), self.resume)

    def forget_listener(self, listener: socket.socket) -> None:
        if listener in self._paused:
            self._paused.remove(listener)

    def strangers(self) -> list[Connection]:
        """Those that have not shown the token, the oldest first, of other users' before our own."""
        found = [one for one in self.by_fd.values() if not one.is_known]
        return sorted(found, key=lambda one: (not one.is_foreign, one.since))

    def has_place(self, is_last: bool) -> bool:
        """Whether the next one can be let in: a place is free, or somebody would give way."""
        strangers = self.strangers()
        if len(strangers) < PLACES:
            return True
        for stranger in strangers:
            # Who it is may stand in what it has just sent.
            self._serve(stranger, READABLE)
        left, now = self.strangers(), time.monotonic()
        return is_last or len(left) < PLACES or any(one.gives_way(now) for one in left)

    def give_way_to(self, newcomer: Connection, is_last: bool) -> bool:
        strangers, now = self.strangers(), time.monotonic()
        if len(strangers) < PLACES:
            return True
        for stranger in strangers:
            if (is_last or stranger.gives_way(now)) and (stranger.is_foreign or not newcomer.is_foreign):
                self._refusals.add_stranger()
                self._drop(stranger)
                return True
        return False

    def pause(self, listener: socket.socket) -> None:
        """Let newcomers wait where the kernel keeps them, until somebody's time is over."""
        if listener in self._paused:
            return
        self._paused.append(listener)
        self._reactor.change(listener.fileno(), 0)
        until = min((one.settled_at for one in self.strangers()), default=time.monotonic())
        self._reactor.at("places", until, self.resume)

    def resume(self) -> None:
        paused, self._paused = self._paused, []
        for listener in paused:
            self._reactor.change(listener.fileno(), READABLE)

    def make_room(self) -> bool:
        """Let the known connection go that was unused for longest."""
        for connection in [one for one in self.by_fd.values() if one.is_known]:
            # Whether it is idle shows only after what it may just have sent was read.
            self._serve(connection, READABLE)
            if connection.began is None and not connection.held and not connection.answered:
                self._drop(connection)
                return True
        return False

    @property
    def buffered(self) -> int:
        """Bytes that all of them have in requests that are not whole."""
        return sum(connection.parser.buffered for connection in self.by_fd.values())

    def watch_the_clock(self) -> None:
        """Have those dropped that stay too long for what they say."""
        limits = [limit for one in self.by_fd.values() if (limit := one.limit) is not None]
        if limits:
            self._reactor.at("unfinished request", min(limits), self._drop_unfinished)
        else:
            self._reactor.cancel("unfinished request")

    def _drop_unfinished(self) -> None:
        now = time.monotonic()
        for connection in list(self.by_fd.values()):
            if (limit := connection.limit) is None or limit > now:
                continue
            self._drop(connection)
            if connection.is_known:
                self._refusals.add_hook("its request was not whole in time")
            else:
                self._refusals.add_stranger()
        self.watch_the_clock()
