"""The daemon's line to the shim: JSON packets on a socket; the shim listens, one daemon at a time speaks.

Nothing here waits for the daemon. What it does not read is kept within bounds: lifecycle events in the spool, of
evidence the latest, of the rest a short queue. When even that is full the line is cut: a daemon that comes back is
told everything anew.
"""

from __future__ import annotations

import time
from collections import deque

import doorstep
import records
from doorstep import PACKET_LIMIT, Doorstep
from reactor import HUNG_UP, PEER_CLOSED, READABLE, WRITABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable
    from typing import Any

    from place import Place
    from reactor import Reactor
    from spool import Spool

QUEUE_LIMIT = 256
PACKETS_PER_TURN = 64
COMPLAINT_INTERVAL = 1.0
# Seconds between two looks whether a daemon would find the way here, while none is on the line.
LOOK_EVERY = 1.0


class Link:
    """`on_message(message)` gets each well-formed packet; `is_agents(pid)` tells a peer that some agent started.

    `on_alone()` is called now and then while no daemon is on the line.
    """

    def __init__(
        self,
        place: Place,
        reactor: Reactor,
        spool: Spool,
        on_message: Callable[[dict[str, Any]], None],
        is_agents: Callable[[int], bool],
        on_alone: Callable[[], None],
    ) -> None:
        self._on_alone = on_alone
        self._reactor = reactor
        self._spool = spool
        self._on_message = on_message
        self._peer: socket.socket | None = None
        self._newcomer: socket.socket | None = None
        self._waits_for_room = False
        # Queued packets remember the newest spooled event of their time: it goes first.
        self._queue: deque[tuple[int, bytes]] = deque()
        self._evidence: tuple[int, bytes] | None = None
        self._open_call: bytes | None = None
        self._silent_until = 0.0
        self._untold = 0
        self._doorstep = Doorstep(place, reactor, is_agents, self._hear_newcomer)
        reactor.at("alone", time.monotonic() + LOOK_EVERY, self._be_alone)

    def reopen(self) -> None:
        """Listen again where the socket is no longer found; raises OSError. Who is on the line stays."""
        self._doorstep.reopen()

    def greet(self, hello: dict[str, Any], again: Iterable[bytes] = ()) -> None:
        """Answer the daemon's hello: what was queued is obsolete, and the spool is sent again.

        So is the call that was the last thing heard: a daemon that starts in the middle of it has to know of it.
        again: what comes before the hello, so that who has read that knows it.
        """
        if self._newcomer is not None:
            self._hang_up()
            self._peer, self._newcomer = self._newcomer, None
            self._reactor.cancel("alone")
            self._reactor.watch(self._peer.fileno(), READABLE | PEER_CLOSED, self._serve)
        self._queue.clear()
        self._spool.send_again()
        self._queue.extend((0, packet) for packet in again)
        self._queue.append((0, records.encode(hello)))
        if self._evidence is None and self._open_call is not None:
            self._evidence = (self._spool.last_seq, self._open_call)
        self._pump()

    def send(self, event: dict[str, Any]) -> None:
        """Send in order; without a daemon the event is dropped, since the next hello tells the same."""
        if self._peer is None:
            return
        if len(self._queue) >= QUEUE_LIMIT:
            self._hang_up()
            return
        self._queue.append((self._spool.last_seq, records.encode(event)))
        self._pump()

    def send_if_room(self, event: dict[str, Any]) -> None:
        """Send what an agent can cause as often as it likes, as long as that cuts nothing else."""
        if len(self._queue) < QUEUE_LIMIT // 2:
            self.send(event)

    def send_spooled(self) -> None:
        """There is a new event in the spool."""
        self._pump()

    def send_evidence(self, packet: bytes, is_call: bool = False) -> None:
        """Send when the line is free; what waits is replaced by what is newer. is_call: a call begins by it."""
        self._evidence = (self._spool.last_seq, packet)
        self._open_call = packet if is_call else None
        self._pump()

    def forget_call(self) -> None:
        """The call that began last is over."""
        self._open_call = None

    def close(self) -> None:
        self._hang_up()
        self._doorstep.close()

    def refuse(self, reason: str) -> None:
        """Have nothing to do with whoever says hello; the daemon that is on the line stays."""
        if self._newcomer is not None:
            doorstep.complain(self._newcomer, f"refused: {reason}")

    def _hear_newcomer(self, peer: socket.socket, message: dict[str, Any]) -> None:
        """Whoever is greeted takes the place of the daemon before it, and nobody else does."""
        self._newcomer = peer
        self._on_message(message)
        self._newcomer = None
        if self._peer is peer:
            self._serve(0)
        else:
            peer.close()

    def _serve(self, mask: int) -> None:
        if mask & WRITABLE:
            self._pump()
        peer = self._peer
        for _ in range(PACKETS_PER_TURN):
            # A message may have made us hang up, or a newer daemon have taken the place.
            if peer is None or peer is not self._peer:
                return
            try:
                packet = peer.recv(PACKET_LIMIT + 1)
            except BlockingIOError:
                return
            except OSError:
                self._hang_up()
                return
            if not packet and mask & (PEER_CLOSED | HUNG_UP):
                self._hang_up()
                return
            self._take(packet)

    def _take(self, packet: bytes) -> None:
        try:
            message = doorstep.decode(packet)
        except records.Unreadable as error:
            self.complain(str(error))
            return
        self._on_message(message)

    def complain(self, message: str) -> None:
        if self._newcomer is not None:
            doorstep.complain(self._newcomer, message)
            return
        self.send({"event": "error", "message": message[:1024]})

    def complain_of_agent(self, message: str) -> None:
        """Tell of a fault of the agent's making, at most one a second: it can make any number of them."""
        now = time.monotonic()
        if now < self._silent_until:
            self._untold += 1
            return
        more = f" (and {self._untold} more before)" if self._untold else ""
        self._silent_until, self._untold = now + COMPLAINT_INTERVAL, 0
        self.complain(message[:900] + more)

    def _pump(self) -> None:
        """Send what there is, oldest first, until there is none or the socket is full."""
        while self._peer is not None:
            following = self._next()
            if following is None:
                self._wait_for_room(False)
                return
            packet, sent = following
            try:
                self._peer.send(packet)
            except BlockingIOError:
                self._wait_for_room(True)
                return
            except OSError:
                self._hang_up()
                return
            sent()

    def _wait_for_room(self, wanted: bool) -> None:
        if self._peer is not None and wanted != self._waits_for_room:
            self._waits_for_room = wanted
            self._reactor.change(self._peer.fileno(), READABLE | PEER_CLOSED | (WRITABLE if wanted else 0))

    def _next(self) -> tuple[bytes, Callable[[], object]] | None:
        """The packet whose turn it is, and what to do once it is sent."""
        spooled = self._spool.unsent()
        if self._queue and (spooled is None or self._queue[0][0] < spooled[0]):
            return self._queue[0][1], self._queue.popleft
        if self._evidence is not None and (spooled is None or self._evidence[0] < spooled[0]):
            return self._evidence[1], self._forget_evidence
        if spooled is None:
            return None
        return spooled[1], lambda: self._spool.mark_sent(spooled[0])

    def _forget_evidence(self) -> None:
        self._evidence = None

    def _hang_up(self) -> None:
        self._waits_for_room = False
        self._queue.clear()
        if self._peer is not None:
            self._reactor.forget(self._peer.fileno())
            self._peer.close()
            self._peer = None
            self._reactor.at("alone", time.monotonic(), self._be_alone)

    def _be_alone(self) -> None:
        self._reactor.at("alone", time.monotonic() + LOOK_EVERY, self._be_alone)
        self._on_alone()
