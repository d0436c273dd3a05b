"""Whose connection over loopback this is: the kernel's table of sockets knows the user at the other end."""

from __future__ import annotations

import socket
import struct

SOCK_DIAG_BY_FAMILY = 20
NLM_F_REQUEST = 1
NETLINK_SOCK_DIAG = 4
ESTABLISHED = 1 << 1
NO_COOKIE = b"\xff" * 8
# Where the user stands in the kernel's answer: after both headers' 16 and 52 bytes, expires, rqueue and wqueue.
USER_AT = 16 + 52 + 12


def user_of(accepted: socket.socket) -> int | None:
    """The user who made a TCP connection from 127.0.0.1; None where the kernel does not say."""
    try:
        here, there = accepted.getsockname(), accepted.getpeername()
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, NETLINK_SOCK_DIAG) as kernel:
            kernel.setblocking(False)
            kernel.send(_question(there, here))
            answer = kernel.recv(4096)
    except OSError:
        return None
    _, kind = struct.unpack_from("=IH", answer)
    if kind != SOCK_DIAG_BY_FAMILY or len(answer) < USER_AT + 4:
        return None
    user: int = struct.unpack_from("=I", answer, USER_AT)[0]
    return user


def _question(source: tuple[str, int], destination: tuple[str, int]) -> bytes:
    """Ask for the one socket that is bound there and connected to here."""
    ends = struct.pack("!HH", source[1], destination[1])
    addresses = b"".join(socket.inet_aton(host).ljust(16, b"\0") for host, _ in (source, destination))
    body = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, ESTABLISHED)
    body += ends + addresses + struct.pack("=I", 0) + NO_COOKIE
    return struct.pack("=IHHII", 16 + len(body), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 1, 0) + body
