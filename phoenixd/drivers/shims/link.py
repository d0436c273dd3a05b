"""One connection to a shim: packets in and out without ever waiting, and an end that is told once."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import struct
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phoenixd.drivers.shims.wire import PACKET_LIMIT, Malformed, decode, encode
from phoenixd.errors import ShimFailed, ShimGone
from phoenixd.ports.shims import ShimMessage

if TYPE_CHECKING:
    from phoenixd.drivers.shims.reading import Reading

WAITING_LIMIT = 256
PATH_LIMIT = 107


class Link:
    """A connected socket in the running loop. `on_close` gets the reason; it is not called after `close`.

    has_ended: the shim's end of it is no more, as when the shim goes; what it said is not why.

    It is read at once, until `read_in_turn` gives it a place among the others.
    """

    def __init__(
        self,
        agent: str,
        connection: socket.socket,
        on_message: Callable[[ShimMessage], None],
        on_close: Callable[[str], None],
    ) -> None:
        self.agent = agent
        self.peer_pid, self.peer_uid = credentials(connection)
        self._socket = connection
        self._on_message = on_message
        self._on_close = on_close
        self.has_ended = False
        self._reading: Reading | None = None
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[bytes] = deque()
        self._loop.add_reader(connection, self.read)

    @property
    def is_open(self) -> bool:
        return self._socket.fileno() >= 0

    def send(self, message: dict[str, Any]) -> None:
        """Send, or keep until the shim reads on; raises ShimGone, and ShimFailed where it is far behind or too much."""
        if not self.is_open:
            raise ShimGone(f"the link to {self.agent}'s shim is down")
        try:
            packet = encode(message)
        except Malformed as error:
            raise ShimFailed(str(error)) from error
        if self._waiting:
            self._keep(packet)
            return
        try:
            self._socket.send(packet)
        except BlockingIOError:
            self._keep(packet)
            self._loop.add_writer(self._socket, self._write)
        except OSError as error:
            self._end(error.strerror or "broken")
            raise ShimGone(f"the link to {self.agent}'s shim broke: {error.strerror}") from error

    def fileno(self) -> int:
        return self._socket.fileno()

    def read_in_turn(self, reading: Reading) -> None:
        """Have what the shim says read in its turn from now on."""
        if self.is_open:
            reading.take(self)
            self._loop.remove_reader(self._socket)
            self._reading = reading

    def close(self) -> None:
        if self.is_open:
            if self._reading is not None:
                self._reading.forget(self)
            else:
                self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._socket.close()
            self._waiting.clear()

    def _keep(self, packet: bytes) -> None:
        if len(self._waiting) >= WAITING_LIMIT:
            self._fail("the shim does not read")
            raise ShimFailed(f"{self.agent}'s shim does not read what it is told")
        self._waiting.append(packet)

    def _write(self) -> None:
        try:
            while self._waiting:
                self._socket.send(self._waiting[0])
                self._waiting.popleft()
        except BlockingIOError:
            return
        except OSError as error:
            self._end(error.strerror or "broken")
            return
        self._loop.remove_writer(self._socket)

    def read(self) -> None:
        """Take one packet of what the shim has said; then the others have their turn."""
        if not self.is_open:
            return
        try:
            packet, _, flags, _ = self._socket.recvmsg(PACKET_LIMIT)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(error.strerror or "broken")
            return
        if not packet:
            self._end("the shim closed it")
            return
        try:
            if flags & socket.MSG_TRUNC:
                raise Malformed(f"more than {PACKET_LIMIT} bytes")
            message = decode(self.agent, packet)
        except Malformed as error:
            self._fail(f"the shim sent nonsense: {error}")
            return
        self._on_message(message)

    def _end(self, reason: str) -> None:
        self.has_ended = True
        self._fail(reason)

    def _fail(self, reason: str) -> None:
        if self.is_open:
            self.close()
            self._on_close(reason)


def dial(path: Path) -> socket.socket | None:
    """Connect to a listening shim; None when nobody listens, OSError for everything else."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    try:
        _connect(connection, path)
    except OSError as error:
        connection.close()
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ECONNREFUSED):
            return None
        raise
    return connection


def _connect(connection: socket.socket, path: Path) -> None:
    if len(os.fsencode(path)) <= PATH_LIMIT:
        connection.connect(os.fsencode(path))
        return
    # An address holds 107 bytes. The directory's descriptor is a short name for any path.
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        connection.connect(os.fsencode(f"/proc/self/fd/{directory}/{path.name}"))
    finally:
        os.close(directory)


def credentials(connection: socket.socket) -> tuple[int, int]:
    """Who called listen() on the other side, as the kernel says."""
    pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid
