"""Who connects to link.sock, until it has said hello: only then does it take the place of the daemon before it.

A connection alone takes nothing from anybody. There are few places, for a second each, and the oldest gives way.
"""

from __future__ import annotations

import functools
import os
import socket
import time

import records
from reactor import HUNG_UP, PEER_CLOSED, READABLE
from sockets import Listener, peer_of, send_if_possible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from place import Place
    from reactor import Reactor

NAME = "link.sock"
PLACES = 4
SECONDS = 1.0
PACKET_LIMIT = 64 * 1024


class Doorstep:
    """`on_hello(peer, message)` gets a peer that says hello; `is_agents(pid)` tells a peer that some agent started."""

    def __init__(
        self,
        place: Place,
        reactor: Reactor,
        is_agents: Callable[[int], bool],
        on_hello: Callable[[socket.socket, dict[str, Any]], None],
    ) -> None:
        self._place = place
        self._reactor = reactor
        self._is_agents = is_agents
        self._on_hello = on_hello
        self._waiting: dict[int, tuple[socket.socket, float]] = {}  # The oldest comes first.
        self._listener = Listener(place, NAME, socket.SOCK_SEQPACKET)
        reactor.watch(self._listener.socket.fileno(), READABLE, self._accept)

    def reopen(self) -> None:
        """Listen again where the socket is no longer found; raises OSError."""
        if self._listener.is_found:
            return
        lost, self._listener = self._listener, Listener(self._place, NAME, socket.SOCK_SEQPACKET)
        self._reactor.watch(self._listener.socket.fileno(), READABLE, self._accept)
        self._reactor.forget(lost.socket.fileno())
        lost.close()

    def close(self) -> None:
        for peer, _ in list(self._waiting.values()):
            self._dismiss(peer)
        self._reactor.forget(self._listener.socket.fileno())
        self._listener.close()

    def _accept(self, _mask: int) -> None:
        try:
            peer, _ = self._listener.socket.accept()
        except OSError:  # It hung up before it was answered.
            return
        peer.setblocking(False)
        refusal = self._refusal(peer)
        if refusal is not None:
            complain(peer, f"refused: {refusal}")
            peer.close()
            return
        if len(self._waiting) >= PLACES:
            self._dismiss(next(iter(self._waiting.values()))[0])
        self._waiting[peer.fileno()] = peer, time.monotonic() + SECONDS
        self._reactor.watch(peer.fileno(), READABLE | PEER_CLOSED, functools.partial(self._hear, peer))
        self._watch_the_clock()
        # A daemon says hello in the same breath: it never has to give way.
        self._hear(peer, 0)

    def _refusal(self, peer: socket.socket) -> str | None:
        pid, uid = peer_of(peer)
        if uid not in (0, os.getuid()):
            return f"user {uid} is neither root nor the agent's user"
        if self._is_agents(pid):
            return f"process {pid} belongs to an agent"
        return None

    def _hear(self, peer: socket.socket, mask: int) -> None:
        try:
            packet = peer.recv(PACKET_LIMIT + 1)
        except BlockingIOError:
            return
        except OSError:
            self._dismiss(peer)
            return
        if not packet and mask & (PEER_CLOSED | HUNG_UP):
            self._dismiss(peer)
            return
        try:
            message = decode(packet)
        except records.Unreadable as error:
            complain(peer, str(error))
            return
        if message.get("op") != "hello":
            complain(peer, "the first message must be a hello")
            return
        self._forget(peer)
        self._on_hello(peer, message)

    def _forget(self, peer: socket.socket) -> None:
        if self._waiting.pop(peer.fileno(), None) is not None:
            self._reactor.forget(peer.fileno())
            self._watch_the_clock()

    def _dismiss(self, peer: socket.socket) -> None:
        self._forget(peer)
        peer.close()

    def _watch_the_clock(self) -> None:
        if not self._waiting:
            self._reactor.cancel("doorstep")
            return
        self._reactor.at("doorstep", next(iter(self._waiting.values()))[1], self._dismiss_oldest)

    def _dismiss_oldest(self) -> None:
        if self._waiting:
            self._dismiss(next(iter(self._waiting.values()))[0])


def decode(packet: bytes) -> dict[str, Any]:
    """A packet's message; raises records.Unreadable."""
    if len(packet) > PACKET_LIMIT:
        raise records.Unreadable("EMSGSIZE", f"a packet of more than {PACKET_LIMIT} bytes")
    return records.decode_object(packet, "packet")


def complain(peer: socket.socket, message: str) -> None:
    send_if_possible(peer, records.encode({"event": "error", "message": message[:1024]}))
