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

SO_PEERGROUPS = 59
SO_PEERPIDFD = 77
CREDENTIALS = struct.Struct("iII")
GROUP = struct.Struct("I")
MAX_GROUPS = 256
"""What Python's getsockopt has room for; whoever is in more groups is asked of /proc."""
DEPTH = 256
"""Ancestors looked at; a deeper tree is taken for a hostile one."""
TRIES = 5
READ_LIMIT = 65536


@dataclass(frozen=True, slots=True)
class Peer:
    """A connected process. agent: whose tree it lies in, None for none. known: its lineage could be read to the end."""

    pid: int
    uid: int
    groups: frozenset[int]
    agent: str | None
    known: bool


def identify(connection: socket.socket, shims: Mapping[int, str], agents_cgroup: str | None) -> Peer:
    """Read who connected. Cheap enough for every connection: a few small files of /proc."""
    pid, uid, gid = CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
    groups = frozenset((gid, *_groups(connection, pid)))
    pidfd = _pidfd(connection)
    try:
        known, agent = _lineage(pid, shims, agents_cgroup)
        if pidfd is not None and _has_ended(pidfd):
            known, agent = False, None
    finally:
        if pidfd is not None:
            os.close(pidfd)
    return Peer(pid, uid, groups, agent, known)


def _groups(connection: socket.socket, pid: int) -> tuple[int, ...]:
    try:
        raw = connection.getsockopt(socket.SOL_SOCKET, SO_PEERGROUPS, MAX_GROUPS * GROUP.size)
    except OSError:
        lines = _read(pid, "status").splitlines()
        listed = next((line.partition(":")[2] for line in lines if line.startswith("Groups:")), "")
        return tuple(int(group) for group in listed.split())
    return tuple(group for (group,) in GROUP.iter_unpack(raw[: len(raw) - len(raw) % GROUP.size]))


def _pidfd(connection: socket.socket) -> int | None:
    try:
        return connection.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD)
    except OSError:
        return None


def _has_ended(pidfd: int) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


def _lineage(pid: int, shims: Mapping[int, str], agents_cgroup: str | None) -> tuple[bool, str | None]:
    """Whether the lineage is known and no way round the shims, and the agent it leads to."""
    server = _terminal_server(shims)
    for _ in range(TRIES):
        agent = agent_of_cgroup(_read(pid, "cgroup"), agents_cgroup)
        if agent is not None:
            return True, agent
        ancestor = pid
        for _ in range(DEPTH):
            if ancestor in shims:
                return True, shims[ancestor]
            if ancestor == server:
                # An agent can have the terminal server start a program; operators' programs are never below it.
                return False, None
            if ancestor == 1:
                return True, None
            parent = _parent(ancestor)
            if parent is None:
                break  # It ended between two reads, and its children have a new parent: read again from the start.
            if parent == 0:
                return True, None
            ancestor = parent
        else:
            return False, None
    return False, None


def _terminal_server(shims: Mapping[int, str]) -> int | None:
    """The tmux server of ours, which is the parent of every shim."""
    for shim in shims:
        parent = _parent(shim)
        if parent is not None and _read(parent, "comm").startswith("tmux: server"):
            return parent
    return None


def agent_of_cgroup(listing: str, agents_cgroup: str | None) -> str | None:
    """The agent in a /proc/PID/cgroup listing, when one of its paths lies below the agents' cgroup."""
    if not agents_cgroup:
        return None
    root = agents_cgroup.rstrip("/") + "/"
    for line in listing.splitlines():
        _, _, path = line.split(":", 2) if line.count(":") >= 2 else ("", "", "")
        if path.startswith(root):
            return path[len(root) :].partition("/")[0] or None
    return None


def _parent(pid: int) -> int | None:
    stat = _read(pid, "stat")
    # The command's name stands in parentheses and may hold anything, also parentheses.
    fields = stat.rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 and fields[1].isdigit() else None


def _read(pid: int, name: str) -> str:
    try:
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
            return file.read(READ_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""
