"""Unix sockets that only their owner may connect to, and who is at the other end of a connection."""

from __future__ import annotations

import os
import socket
import struct


def listen(path: str, kind: int, backlog: int = 64) -> socket.socket:
    """A unix socket that only its owner may connect to, in the place of whatever a predecessor left there."""
    listener = socket.socket(socket.AF_UNIX, kind | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    remove_socket(path)
    umask = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(umask)
    listener.listen(backlog)
    return listener


def remove_socket(path: str) -> None:
    try:
        os.unlink(path)
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
