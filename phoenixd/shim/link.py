"""The daemon's line to the shim: JSON packets on a socket; the shim listens, one daemon at a time speaks.

Nothing here waits for the daemon. What it does not read is kept within bounds: lifecycle events in the spool, of
evidence the newest, of the rest a short queue. When even that is full the line is cut: a daemon that comes back is
told everything anew.
"""

from __future__ import annotations

import time

import doorstep
import records
from doorstep import PACKET_LIMIT, Doorstep
from outbox import Outbox
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
        self._outbox = Outbox(PACKET_LIMIT)
        self._abilities: frozenset[str] = frozenset()
        self._silent_until = 0.0
        self._untold = 0
        self._doorstep = Doorstep(place, reactor, is_agents, self._hear_newcomer)
        reactor.at("alone", time.monotonic() + LOOK_EVERY, self._be_alone)

    def reopen(self) -> None:
        """Listen again where the socket is no longer found; raises OSError. The daemon on the line stays there."""
        self._doorstep.reopen()

    def greet(self, hello: dict[str, Any], again: Iterable[bytes] = (), abilities: Iterable[str] = ()) -> None:
        """Answer the daemon's hello: what was queued is obsolete, and the spool is sent again.

        again: what comes before the hello, so that who has read that knows it. abilities: what this daemon can do that
        an older one cannot.
        """
        if self._newcomer is not None:
            self._hang_up()
            self._peer, self._newcomer = self._newcomer, None
            self._reactor.cancel("alone")
            self._reactor.watch(self._peer.fileno(), READABLE | PEER_CLOSED, self._serve)
        self._abilities = frozenset(abilities)
        self._spool.send_again()
        packets = (*again, records.encode(hello))
        self._outbox.greet(packets, self._spool.last_seq, takes_batches="batches" in self._abilities)
        self._pump()

    def can(self, ability: str) -> bool:
        """Whether a daemon is on the line that has said that it can do this."""
        return self._peer is not None and ability in self._abilities

    def send(self, event: dict[str, Any]) -> None:
        """Send in order; without a daemon the event is dropped, since the next hello tells the same."""
        if self._peer is None:
            return
        if self._outbox.queued >= QUEUE_LIMIT:
            self._hang_up()
            return
        self._outbox.tell(records.encode(event), self._spool.last_seq)
        self._pump()

    def send_if_room(self, event: dict[str, Any]) -> None:
        """Send what an agent can cause as often as it likes, as long as that cuts nothing else."""
        if self._outbox.queued < QUEUE_LIMIT // 2:
            self.send(event)

    def send_spooled(self) -> None:
        """There is a new event in the spool."""
        self._pump()

    def send_evidence(self, packet: bytes, is_call: bool = False) -> None:
        """Send soon, together with what comes meanwhile. is_call: a call begins by it."""
        if not self._outbox.has_room(packet):
            self._outbox.hurry()
            self._pump()
        self._outbox.add_evidence(packet, self._spool.last_seq, begins_call=is_call)
        self._pump()

    def send_next_at_once(self) -> None:
        """A run begins: nothing of its first evidence waits for the last of another."""
        self._outbox.hurry()

    def forget_call(self) -> None:
        """The call that began last is over."""
        self._outbox.forget_call()

    def close(self) -> None:
        self._hang_up()
        self._doorstep.close()

    def refuse(self, reason: str) -> None:
        """Have nothing to do with the daemon that says hello; the one that is on the line stays."""
        if self._newcomer is not None:
            doorstep.complain(self._newcomer, f"refused: {reason}")

    def _hear_newcomer(self, peer: socket.socket, message: dict[str, Any]) -> None:
        """A daemon that is greeted takes the place of the one before it, and nobody else does."""
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
        # What was sent may have made us hang up. The daemon mostly says one thing at a time: of more the reactor tells.
        if self._peer is None:
            return
        try:
            packet = self._peer.recv(PACKET_LIMIT + 1)
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
        """Send what there is, oldest first, until there is none, the rest is to wait, or the socket is full."""
        while self._peer is not None:
            spooled = self._spool.unsent()
            sending = self._outbox.following(time.monotonic(), spooled[0] if spooled is not None else None)
            if sending is None:
                self._wait_for_room(False)
                self._wait_for_more()
                return
            packet = sending.packet
            if packet is None:
                assert spooled is not None
                packet = spooled[1]
            try:
                self._peer.send(packet)
            except BlockingIOError:
                self._wait_for_room(True)
                return
            except OSError:
                self._hang_up()
                return
            if sending.packet is None and spooled is not None:
                self._spool.mark_sent(spooled[0])
            self._outbox.sent(sending, time.monotonic())

    def _wait_for_more(self) -> None:
        due = self._outbox.due()
        if due is not None and not self._reactor.waits_for("evidence"):
            self._reactor.at("evidence", due, self._pump)

    def _wait_for_room(self, wanted: bool) -> None:
        if self._peer is not None and wanted != self._waits_for_room:
            self._waits_for_room = wanted
            self._reactor.change(self._peer.fileno(), READABLE | PEER_CLOSED | (WRITABLE if wanted else 0))

    def _hang_up(self) -> None:
        self._waits_for_room = False
        self._abilities = frozenset()
        self._outbox.part()
        if self._peer is not None:
            self._reactor.forget(self._peer.fileno())
            self._peer.close()
            self._peer = None
            self._reactor.at("alone", time.monotonic(), self._be_alone)

    def _be_alone(self) -> None:
        self._reactor.at("alone", time.monotonic() + LOOK_EVERY, self._be_alone)
        self._on_alone()
