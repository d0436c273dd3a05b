"""Who is at the other end of a connection: uid and groups by the kernel's word, and whether it belongs to an agent.

The kernel notes the credentials of the process that connected. A process may connect, pass the socket on and exit, and
its pid may come back as another's: so the lineage is read at once, confirmed by a pidfd of the very peer where the
kernel has one (Linux 6.5), and a peer that is gone is nobody.
"""

from __future__ import annotations

import os
import select
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from phoenixd import hidden
from phoenixd.api.lineage import (
    GONE,
    NO_DESCRIPTORS,
    OUTSIDE,
    Lack,
    Lineage,
    lineage,
    remember_parent,
)
from phoenixd.api.marks import agent_by_mark
from phoenixd.api.proc import Scarce, Stat, is_ending, is_scarce, read

SO_PEERGROUPS = 59
SO_PEERPIDFD = 77
CREDENTIALS = struct.Struct("iII")
GROUP = struct.Struct("I")
MAX_GROUPS = 256
"""What Python's getsockopt has room for; for a process with more groups, /proc is read."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A connected process. agent: whose tree it lies in, None for none. unknown: why that cannot be told, or empty.

    lack: what kind of not knowing that is; None where it is known.
    """

    pid: int
    uid: int
    groups: frozenset[int]
    agent: str | None
    unknown: str = ""
    lack: Lack | None = None


def identify(
    connection: socket.socket, shims: Mapping[int, str], agents_cgroup: str | None, agents_dir: str = ""
) -> Peer:
    """Read who connected. Cheap enough for every connection: a few small files of /proc.

    agents_dir: what the mark of our own agents' runs names, see `marks`.
    """
    pid, uid, gid = CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
    try:
        groups = frozenset((gid, *_groups(connection, pid)))
        found = _lineage(connection, pid, shims, agents_cgroup, agents_dir)
    except Scarce:
        return Peer(pid, uid, frozenset((gid,)), None, NO_DESCRIPTORS, Lack.NO_DESCRIPTORS)
    return Peer(pid, uid, groups, *found)


def _lineage(
    connection: socket.socket, pid: int, shims: Mapping[int, str], agents_cgroup: str | None, agents_dir: str
) -> Lineage:
    pidfd = _pidfd(connection)
    try:
        above: dict[int, Stat] = {}
        found = lineage(pid, shims, agents_cgroup, above)
        if found.agent is None and (marked := agent_by_mark(pid, agents_dir, above)) is not None:
            found = Lineage(marked)
        # Its environment is gone long before the pidfd tells of its end: a mark that is not found proves nothing then.
        if is_ending(pid) or _is_gone(pid, pidfd):
            return Lineage(None, GONE, Lack.GONE)
        if found == OUTSIDE and agents_dir:
            remember_parent(pid, above)
    finally:
        if pidfd is not None:
            os.close(pidfd)
    return found


def _groups(connection: socket.socket, pid: int) -> tuple[int, ...]:
    try:
        raw = connection.getsockopt(socket.SOL_SOCKET, SO_PEERGROUPS, MAX_GROUPS * GROUP.size)
    except OSError:
        lines = read(pid, "status").splitlines()
        listed = next((line.partition(":")[2] for line in lines if line.startswith("Groups:")), "")
        return tuple(int(group) for group in listed.split())
    return tuple(group for (group,) in GROUP.iter_unpack(raw[: len(raw) - len(raw) % GROUP.size]))


def _pidfd(connection: socket.socket) -> int | None:
    try:
        return connection.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD)
    except OSError as error:
        if is_scarce(error):
            raise Scarce from error
        return None  # An older kernel, or a peer that is gone: then nothing of it can be read either.


def _is_gone(pid: int, pidfd: int | None) -> bool:
    """Whether the peer has ended. One of an outer pid namespace has the number 0, and only a pidfd tells of it."""
    if pidfd is None:
        return pid > 0 and not hidden.exists(pid)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))
