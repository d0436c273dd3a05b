"""Unix sockets that only their owner may connect to, and who is at the other end of a connection."""

from __future__ import annotations

import os
import socket
import struct

from place import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from place import Place


class Listener:
    """A unix socket that only its owner may connect to, in the place of whatever a predecessor left there."""

    def __init__(self, place: Place, name: str, kind: int, backlog: int = 64) -> None:
        self._place = place
        self._name = name
        self.socket = socket.socket(socket.AF_UNIX, kind | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        umask = os.umask(0o177)
        try:
            self._remove()
            self.socket.bind(place.inside(name))
            self._file = identity(name, place.fd)
            self.socket.listen(backlog)
        except OSError:
            self.socket.close()
            raise
        finally:
            os.umask(umask)

    @property
    def is_found(self) -> bool:
        """Whether its name still leads to it; a hand may have removed or replaced what stands there."""
        return self._place.leads_to(self._name, self._file)

    def close(self) -> None:
        """Listen no more, and leave nothing behind; what somebody else put there is left alone."""
        if self.is_found:
            self._remove()
        self.socket.close()

    def _remove(self) -> None:
        try:
            os.unlink(self._name, dir_fd=self._place.fd)
        except FileNotFoundError:
            return


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """The process and the user that connected, as the kernel says."""
    pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid


def send_if_possible(peer: socket.socket, packet: bytes) -> None:
    try:
        peer.send(packet)
    except OSError:
        return
