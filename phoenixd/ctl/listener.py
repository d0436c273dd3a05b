"""Who listens at a daemon's socket: the daemon that holds the directory, or a program that took the name.

Anybody who may write in that directory can put a socket there. Nothing lethal is proposed about a process that is not
known to be the daemon.
"""

from __future__ import annotations

import _socket
import os
import struct
from typing import NamedTuple

from phoenixd.ctl import holders

MOST_WORDS = 120
LISTENS = "00010000"
"""The flags in /proc/net/unix of a socket that takes connections in (__SO_ACCEPTCON)."""


class Listener(NamedTuple):
    """pid: who listens, 0 where that cannot be seen. holder: the daemon that holds the directory (`holders`)."""

    place: bytes
    pid: int
    holder: int

    @property
    def is_daemon(self) -> bool:
        return self.pid == self.holder > 0

    @property
    def is_strange(self) -> bool:
        """Whether it is known to be no daemon."""
        return self.pid > 0 and self.holder >= 0 and self.pid != self.holder


def of_connection(place: bytes, connection: _socket.socket, state: str | None) -> Listener:
    """Who took this connection in, as the kernel says. state: the daemon's state directory, where one is known."""
    pid, _, _ = struct.unpack("3i", connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12))
    return _judged(place, pid, state)


def of_full_queue(place: bytes, state: str | None) -> Listener:
    """Who listens at a socket that lets nobody in, as the daemon's own descriptors tell."""
    holder = holders.holder_of(place)
    held = _held(holder) if holder > 0 else None
    sockets = _sockets(place, held or set())
    if sockets and held is not None:
        return Listener(place, holder, holder) if sockets & held else _judged(place, _owner(sockets), state)
    return _judged(place, 0 if holder else _owner(sockets), state)


def program(pid: int) -> str:
    """What a process runs, on one line without secrets; empty where that cannot be seen."""
    from phoenixd.documents.plain_text import one_line
    from phoenixd.documents.redact import redact

    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(4096).replace(b"\0", b" ")
    except OSError:
        return ""
    return one_line(redact(os.fsdecode(words)), MOST_WORDS)


def _judged(place: bytes, pid: int, state: str | None) -> Listener:
    holder = holders.holder_of(place)
    if pid not in (0, holder) and state is not None and holders.holder_of(os.fsencode(state) + b"/api.sock") == pid:
        # One of an older version, which holds its state directory alone.
        holder = pid
    return Listener(place, pid, holder)


def _sockets(place: bytes, held: set[str]) -> set[str]:
    """The inodes of the sockets that listen under this name. held: those of the daemon that holds the directory.

    Where no socket bears the name as it was typed or without links, the daemon may have bound its own by other links.
    The names of other programs are never resolved: a look at a path on a disk that hangs does not return.
    """
    typed = os.path.abspath(os.fsdecode(place))
    wanted = os.path.realpath(typed)
    listening = _listening()
    same = {inode for inode, path in listening if path in (typed, wanted)}
    return same or {inode for inode, path in listening if inode in held and os.path.realpath(path) == wanted}


def _listening() -> list[tuple[str, str]]:
    """Inode and path of each socket that listens under a whole path."""
    found: list[tuple[str, str]] = []
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as table:
            for line in table:
                words = line.rstrip("\n").split(maxsplit=7)
                if len(words) < 8 or words[3] != LISTENS or not os.path.isabs(words[7]):
                    continue
                found.append((words[6], words[7]))
    except OSError:
        return []
    return found


def _held(pid: int) -> set[str] | None:
    """The inodes of a process's sockets; None where nobody may look."""
    directory, found = f"/proc/{pid}/fd", set()
    try:
        for name in os.listdir(directory):
            try:
                target = os.readlink(f"{directory}/{name}")
            except FileNotFoundError:
                continue
            if target.startswith("socket:["):
                found.add(target[8:-1])
    except OSError:
        return None
    return found


def _owner(sockets: set[str]) -> int:
    """A process that holds one of them; 0 where none can be seen."""
    for name in os.listdir("/proc") if sockets else ():
        if name.isdigit() and sockets & (_held(int(name)) or set()):
            return int(name)
    return 0
