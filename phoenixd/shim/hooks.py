"""The hook endpoint: HTTP on loopback and on a unix socket, for agents that post their hooks themselves.

All of it comes from the agent's side and is believed in nothing: sizes, counts and times have limits, and a fault
ends the connection that made it. A client with the token of the living run is answered `{}` at once, whatever becomes
of the event.
"""

from __future__ import annotations

import functools
import os
import socket
import time
from _operator import _compare_digest as equal_in_constant_time  # hmac has the same one, and maps OpenSSL with it.

import httpwire
import loopback
import payload
import records
from connection import MAX_KNOWN, Connection, Connections
from reactor import HOOKS_FIRST, READABLE, WRITABLE
from sockets import Listener, peer_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from place import Place
    from reactor import Reactor
    from refusals import Refusals

NAME = "hook.sock"
BACKLOG = 1024
READ_SIZE = 64 * 1024
# An agent decides how much it sends; others, and orders, have their turn in between.
SECONDS_PER_TURN = 0.02
ACCEPTS_PER_TURN = 64
ALL_BUFFERS_LIMIT = MAX_KNOWN * httpwire.WHOLE_LIMIT
ANSWERS_LIMIT = 64 * 1024
# An agent that asked nobody any more by the time of our answer hangs up on it; one that takes it keeps the connection.
SETTLE_SECONDS = 1.0
# What is answered so says nothing about a hook that was lost.
NO_HOOKS = frozenset({403, 404, 405})


class HookEndpoint:
    """Calls `on_hook(kind, input)` for each genuine event; `token()` is the living run's, or None.

    A client without the token gets one of few places, for a short time, and gives way to the next (connection.py).

    An event for which `on_hook` returns a number is held: its client waits until `answer` is called with that
    number, or hangs up, which `on_released(number)` tells. Bytes are the body of the answer, which is given at once.
    """

    def __init__(
        self,
        place: Place,
        reactor: Reactor,
        token: Callable[[], str | None],
        on_hook: Callable[[str, dict[str, Any]], int | bytes],
        on_fault: Callable[[str], None],
        on_released: Callable[[int], None],
        on_answered: Callable[[int, bool], None],
        refusals: Refusals,
    ) -> None:
        self._reactor = reactor
        self._token = token
        self._on_hook = on_hook
        self._on_fault = on_fault
        self._on_released = on_released
        self._on_answered = on_answered
        self._refusals = refusals
        self._place = place
        self._connections = Connections(reactor, refusals, self._serve, self._drop)
        self._unix = Listener(place, NAME, socket.SOCK_STREAM, BACKLOG)
        self._tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        self._tcp.bind(("127.0.0.1", 0))
        self._tcp.listen(BACKLOG)
        self.port: int = self._tcp.getsockname()[1]
        self._hosts = (f"127.0.0.1:{self.port}".encode(), f"localhost:{self.port}".encode())
        reactor.watch(self._unix.socket.fileno(), READABLE, lambda _: self._accept(self._unix.socket), HOOKS_FIRST)
        reactor.watch(self._tcp.fileno(), READABLE, lambda _: self._accept(self._tcp), HOOKS_FIRST)

    def drain(self) -> None:
        """Take in what has already arrived: the last words of an agent that is dead."""
        self._accept(self._unix.socket, is_last=True)
        self._accept(self._tcp, is_last=True)
        for connection in self._connections.each:
            self._serve(connection, READABLE)

    @property
    def held(self) -> list[int]:
        """The numbers of the events that wait for an answer, the oldest first."""
        return sorted(connection.held for connection in self._connections.by_fd.values() if connection.held)

    def answer(self, number: int, body: bytes) -> None:
        """Answer a held event; `on_answered(number, taken)` tells, now or soon, whether anybody took it."""
        connection = next((one for one in self._connections.by_fd.values() if one.held == number), None)
        if connection is None:
            self._on_answered(number, False)
            return
        # A person who answered at the terminal has made the agent hang up; that may stand here unread.
        self._serve(connection, READABLE)
        if connection.held != number:
            self._on_answered(number, False)
            return
        connection.held, connection.answered = 0, number
        connection.answers += httpwire.response(200, body, connection.keep_alive)
        connection.closing = not connection.keep_alive
        self._reactor.at(f"answer {number}", time.monotonic() + SETTLE_SECONDS, lambda: self._settle(connection, True))
        self._serve(connection, WRITABLE)

    def release_all(self) -> None:
        """The run is over: nobody waits for an answer any more."""
        for connection in self._connections.each:
            if connection.held or connection.answered:
                self._drop(connection)

    def close(self) -> None:
        for connection in self._connections.each:
            self._drop(connection)
        for listener in (self._unix.socket, self._tcp):
            self._reactor.forget(listener.fileno())
        self._unix.close()
        self._tcp.close()

    def reopen(self) -> None:
        """Listen again where the unix socket is no longer found; raises OSError."""
        if self._unix.is_found:
            return
        lost, self._unix = self._unix, Listener(self._place, NAME, socket.SOCK_STREAM, BACKLOG)
        self._reactor.watch(
            self._unix.socket.fileno(), READABLE, lambda _: self._accept(self._unix.socket), HOOKS_FIRST
        )
        self._reactor.forget(lost.socket.fileno())
        self._connections.forget_listener(lost.socket)
        lost.close()

    def _accept(self, listener: socket.socket, is_last: bool = False) -> None:
        """is_last: the agent is dead, and nobody has to be given time."""
        for _ in range(ACCEPTS_PER_TURN):
            if not self._connections.has_place(is_last):
                self._connections.pause(listener)
                return
            try:
                accepted, _ = listener.accept()
            except OSError:
                return
            accepted.setblocking(False)
            over_tcp = listener is self._tcp
            user = loopback.user_of(accepted) if over_tcp else peer_of(accepted)[1]
            connection = Connection(accepted, over_tcp, user not in (None, 0, os.getuid()), self._admit)
            if not self._connections.give_way_to(connection, is_last):
                accepted.close()
                self._refusals.add_stranger()
                continue
            self._connections.by_fd[accepted.fileno()] = connection
            self._reactor.watch(accepted.fileno(), READABLE, functools.partial(self._serve, connection), HOOKS_FIRST)
            # A client that shows the token in the same breath never has to give way.
            self._serve(connection, READABLE)

    def _serve(self, connection: Connection, mask: int) -> None:
        fd = connection.socket.fileno()
        try:
            if mask & ~WRITABLE and not connection.closing:
                self._read(connection)
            if not self._answer(connection):
                # It is gone, and answers interest nobody; what it said before may still be unread.
                self._read(connection)
                self._drop(connection)
        except OSError:
            self._drop(connection)
        except Exception as error:  # noqa: BLE001  # A fault in serving one hook must not cost the agent its life.
            self._drop(connection)
            self._refusals.add_hook(f"{type(error).__name__} in serving it")
            self._on_fault(f"hook endpoint: {type(error).__name__}: {error}")
        self._connections.touch(fd)
        self._connections.watch_the_clock()

    def _read(self, connection: Connection) -> None:
        until = time.monotonic() + SECONDS_PER_TURN
        while True:
            try:
                data = connection.socket.recv(READ_SIZE)
            except BlockingIOError:
                return
            if not data:
                connection.closing = True
                return
            try:
                self._take(connection, data)
            except httpwire.Refused as refused:
                self._refuse(connection, refused)
            # Of a short read there is nothing left; more that comes, or the end, is told by the reactor.
            if len(data) < READ_SIZE or connection.closing or time.monotonic() >= until:
                return

    def _refuse(self, connection: Connection, refused: httpwire.Refused) -> None:
        connection.answers += httpwire.response(refused.status, b"{}", keep_alive=False)
        connection.closing = True
        if connection.is_known and refused.status not in NO_HOOKS:
            self._refusals.add_hook(f"{refused.status} {refused}")
        elif refused.status == 403 or not connection.is_known:
            self._refusals.add_stranger()

    def _take(self, connection: Connection, data: bytes) -> None:
        if connection.held:
            # An answer to what comes now would be read as the one that is held.
            raise httpwire.Refused(400)
        # What it says next on this connection, it says having read the answer.
        self._settle(connection, True)
        for head, body in connection.parser.feed(data):
            answered = self._handle(head, body)
            if isinstance(answered, int) and answered:
                connection.held = answered
                connection.keep_alive, connection.began = head.keep_alive, None
                if connection.parser.buffered:
                    raise httpwire.Refused(400)
                return
            connection.answers += httpwire.response(200, answered or b"{}", head.keep_alive)
            connection.began = None
            if not head.keep_alive:
                connection.closing = True
                return
        if connection.parser.wants_continue:
            connection.answers += httpwire.CONTINUE
        if not connection.parser.in_request:
            connection.began = None
        elif connection.began is None:
            connection.began = time.monotonic()
        # A reader that only ever sends, and many that each send a little less than a whole body.
        if len(connection.answers) > ANSWERS_LIMIT or self._connections.buffered > ALL_BUFFERS_LIMIT:
            raise httpwire.Refused(503)

    def _admit(self, connection: Connection, head: httpwire.Head) -> None:
        """Refuse before the body is taken in; a web page's request carries another Host, or no token."""
        if connection.over_tcp and head.headers.get(b"host") not in self._hosts:
            raise httpwire.Refused(403)
        token = self._token()
        given = head.headers.get(b"authorization", b"")
        if token is None or not equal_in_constant_time(given, b"Bearer " + token.encode()):
            raise httpwire.Refused(403)
        if not connection.is_known:
            self._welcome(connection)
        if head.path != b"/hook" and _kind_in(head.path) is None:
            raise httpwire.Refused(404)
        if head.method != b"POST":
            raise httpwire.Refused(405)

    def _welcome(self, connection: Connection) -> None:
        """It has shown the token: it has a place among the agent's own."""
        connection.is_known = True
        self._connections.resume_soon()
        if self._connections.is_crowded and not self._connections.make_room():
            raise httpwire.Refused(503)

    def _handle(self, head: httpwire.Head, body: bytes | httpwire.Large) -> int | bytes:
        kind = _kind_in(head.path)
        try:
            hook_input = records.decode_object(body or b"{}", "body") if isinstance(body, bytes) else body.result()
        except (records.Unreadable, ValueError) as error:
            raise httpwire.Refused(400) from error
        if kind is None:
            name = hook_input.get("hook_event_name")
            if not isinstance(name, str):
                raise httpwire.Refused(400)
            kind = payload.kind_of(name)
        # An event that only a newer agent knows is none of ours, and no reason to bother the agent.
        return self._on_hook(kind, hook_input) if kind is not None else 0

    def _answer(self, connection: Connection) -> bool:
        """Send what can be sent now; False if there is nobody to send it to."""
        while connection.answers:
            try:
                sent = connection.socket.send(connection.answers)
            except BlockingIOError:
                break
            except OSError:
                return False
            del connection.answers[:sent]
        fd = connection.socket.fileno()
        if connection.closing and not connection.answers:
            self._drop(connection)
        elif bool(connection.answers) != connection.waits_for_room:
            connection.waits_for_room = bool(connection.answers)
            self._reactor.change(fd, WRITABLE if connection.waits_for_room else READABLE)
        return True

    def _drop(self, connection: Connection) -> None:
        fd = connection.socket.fileno()
        if self._connections.by_fd.pop(fd, None) is None:
            return
        self._reactor.forget(fd)
        connection.socket.close()
        self._connections.resume_soon()
        # A client that asked for no more than this answer is done; it was sent, unless some of it is left.
        self._settle(connection, connection.closing and not connection.keep_alive and not connection.answers)
        if connection.held:
            number, connection.held = connection.held, 0
            self._on_released(number)

    def _settle(self, connection: Connection, taken: bool) -> None:
        number, connection.answered = connection.answered, 0
        if number:
            self._reactor.cancel(f"answer {number}")
            self._on_answered(number, taken)


def _kind_in(path: bytes) -> str | None:
    """The kind in /hook/<kind>; None for any other path."""
    if not path.startswith(b"/hook/"):
        return None
    return payload.kind_of(path[6:].decode("latin-1"))
