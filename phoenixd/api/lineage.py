"""To which agent a process belongs, by its control group and by who started whom.

The way up is walked through whatever can be read. Under hidepid an ordinary user's daemon cannot read other users'
processes, nor those of its own user that may not be traced (sshd's, an ssh-agent, a hardened CLI). Such a process ends
the walk, and what it means is found from the other side: a shim is always the daemon's own and can be read, and so
below each shim are listed also those children that cannot be read themselves.

What could not be looked at for want of descriptors says nothing at all (`proc.Scarce`): an empty list of children would
make an agent's process an operator's, and an empty ancestor an operator a stranger.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import NamedTuple

from phoenixd import hidden
from phoenixd.api.known import KNOWN, Held, hold
from phoenixd.api.proc import Scarce, Stat, heed, read, stat_of

DEPTH = 256
"""Ancestors looked at; a deeper tree is taken for a hostile one."""
TRIES = 5
CGROUP_MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
GONE = "its lineage is not known: it ended, or its ancestors did, while they were looked at"
NO_DESCRIPTORS = "phoenixd has no descriptors left to look who asks"
TOO_DEEP = f"its lineage is not known: it has more than {DEPTH} ancestors"
OF_THE_TERMINAL = "its lineage leads to the agents' terminal server, from which an agent can start programs"


class Lack(Enum):
    """What kind of not knowing it is; each has a remedy of its own."""

    GONE = "gone"
    """There is nothing left to look at; who asks again and stays is known."""
    INVISIBLE = "invisible"
    """It exists, and /proc does not show it to this daemon."""
    NO_DESCRIPTORS = "no descriptors"
    """The daemon could not look: that is no word on who asks."""
    WITHIN_REACH = "within reach"
    """All is seen, and an agent could have made it."""


class Lineage(NamedTuple):
    """agent: whose tree a process lies in, None for none. unknown: why that cannot be told, else empty.

    lack: what kind of not knowing that is.
    """

    agent: str | None
    unknown: str = ""
    lack: Lack | None = None


OUTSIDE = Lineage(None)
"""Below no shim of ours, as is known for certain."""


@dataclass(slots=True)
class _Trees:
    """What lies below the shims. agents: by pid, also of those that cannot be read.

    doors: processes of other users there, whose own children cannot be listed: by pid the agent, and the start of the
    parent, after which all that lies behind it was started.
    """

    agents: dict[int, str] = field(default_factory=dict)
    doors: dict[int, tuple[str, int]] = field(default_factory=dict)


def lineage(
    pid: int, shims: Mapping[int, str], agents_cgroup: str | None, above: dict[int, Stat] | None = None
) -> Lineage:
    """Where a process comes from. shims: the living ones, by pid. agents_cgroup: as /proc/PID/cgroup spells it.

    above: filled with what was read of it and of those above it, by pid, for who walks the same way next.
    """
    try:
        return _upwards(pid, shims, agents_cgroup, {} if above is None else above)
    except Scarce:
        return Lineage(None, NO_DESCRIPTORS, Lack.NO_DESCRIPTORS)


def _upwards(pid: int, shims: Mapping[int, str], agents_cgroup: str | None, above: dict[int, Stat]) -> Lineage:
    agent = agent_of_cgroup(read(pid, "cgroup"), agents_cgroup)
    if agent is not None:
        return Lineage(agent)
    servers = _terminal_servers(shims)
    for _ in range(TRIES):
        ancestor, highest = pid, None
        above.clear()
        for _ in range(DEPTH):
            if ancestor in shims:
                return Lineage(shims[ancestor])
            if ancestor in servers:
                # An agent can have the terminal server start a program; operators' programs are never below it.
                return Lineage(None, OF_THE_TERMINAL, Lack.WITHIN_REACH)
            if highest is not None and KNOWN.is_outside(ancestor):
                return OUTSIDE
            # A peer of an outer pid namespace has the number 0, and nobody knows more about it.
            if ancestor == 1 or (ancestor == 0 and highest is not None):
                return OUTSIDE
            stat = stat_of(ancestor)
            if stat is None:
                break
            above[ancestor] = stat
            ancestor, highest = stat.parent, stat
        else:
            return Lineage(None, TOO_DEEP, Lack.WITHIN_REACH)
        if hidden.exists(ancestor) and stat_of(ancestor) is None:
            return _behind(ancestor, highest, shims, agents_cgroup)
        # It ended between two reads, and its children have a new parent: read again from the start.
        agent = agent_of_cgroup(read(pid, "cgroup"), agents_cgroup)
        if agent is not None:
            return Lineage(agent)
    return Lineage(None, GONE, Lack.GONE)


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


def _behind(unseen: int, highest: Stat | None, shims: Mapping[int, str], agents_cgroup: str | None) -> Lineage:
    """What a walk means that ended at a living process which cannot be read. highest: the last one that could.

    A shim of ours is never of another user, so that what lies below none of them is no agent's: a login shell below
    root's sshd. An agent can put another user's program (sudo) between itself and what asks, and a second one behind
    that is not listed anywhere: what could have come from there is nobody, unless it is older.
    """
    try:
        pidfd = os.pidfd_open(unseen)
    except OSError as error:
        heed(error)
        return Lineage(None, GONE, Lack.GONE)
    is_held = False
    try:
        found = _search(unseen, highest, shims, agents_cgroup)
        # A caller that is hidden itself is gone in a moment; what it is below of stays.
        if found == OUTSIDE and highest is not None:
            is_held = True
            KNOWN.add_outsider(Held(unseen, pidfd))
    finally:
        if not is_held:
            os.close(pidfd)
    return found


def _search(unseen: int, highest: Stat | None, shims: Mapping[int, str], agents_cgroup: str | None) -> Lineage:
    listed = _in_a_leaf(unseen, agents_cgroup)
    if listed is not None:
        return Lineage(listed)
    trees = _trees(shims)
    for member in (unseen, _session(unseen)):
        if member in trees.agents:
            return Lineage(trees.agents[member])
    for door, (agent, since) in trees.doors.items():
        if highest is None or highest.start_time >= since:
            return Lineage(
                None,
                f"its ancestors are hidden (hidepid), and {agent} runs another user's program (pid {door}) from which "
                "it may come",
                Lack.INVISIBLE,
            )
    return Lineage(None)


def _trees(shims: Mapping[int, str]) -> _Trees:
    found = _Trees()
    for shim, agent in shims.items():
        found.agents[shim] = agent
        waiting = [shim]
        while waiting:
            parent = waiting.pop()
            for child in _children(parent):
                if child in found.agents:
                    continue
                found.agents[child] = agent
                waiting.append(child)
                if stat_of(child) is None and hidden.is_foreign(child):
                    above = stat_of(parent)
                    found.doors[child] = (agent, above.start_time if above is not None else 0)
    return found


def _children(pid: int) -> Iterator[int]:
    """The children of all threads, whether they can be read or not."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError as error:
        heed(error)
        return
    for thread in threads:
        yield from map(int, read(pid, f"task/{thread}/children").split())


def _session(pid: int) -> int:
    """The leader of a process's session, which is one of its ancestors; -1 where the kernel does not tell."""
    try:
        return os.getsid(pid) or -1
    except OSError:
        return -1


def _in_a_leaf(pid: int, agents_cgroup: str | None) -> str | None:
    """The agent in whose control group a process is listed that cannot be asked itself."""
    for mount in CGROUP_MOUNTS if agents_cgroup else ():
        root = mount + (agents_cgroup or "").rstrip("/")
        for directory, _, files in os.walk(root, onerror=heed):
            if "cgroup.procs" in files and directory != root and pid in _members(f"{directory}/cgroup.procs"):
                return directory[len(root) + 1 :].partition("/")[0]
    return None


def _members(path: str) -> frozenset[int]:
    try:
        with open(path, "rb") as file:
            return frozenset(map(int, file.read().split()))
    except OSError as error:
        heed(error)
        return frozenset()


def _terminal_servers(shims: Mapping[int, str]) -> frozenset[int]:
    """The tmux servers of ours, which are the parents of all shims. One that was found is one as long as it lives."""
    hidden_ones = [parent for shim in KNOWN.unplaced(shims.keys()) if (parent := _place(shim)) is not None]
    return KNOWN.servers.union(hidden_ones)


def _place(shim: int) -> int | None:
    """Find a shim's server, once; the server where it has to be found again, as it cannot be held."""
    stat = stat_of(shim)
    if stat is None:
        return None
    if stat.parent <= 1:
        KNOWN.place(shim)
        return None
    server = stat_of(stat.parent)
    if server is not None and read(stat.parent, "comm").startswith("tmux: server"):
        held = hold(stat.parent, partial(_is_still, shim, stat))
        if held is None:
            return stat.parent
        KNOWN.add_server(held, partial(_is_there, stat.parent, server.start_time))
    elif server is None:
        # One that is hidden cannot be asked for its name; nothing else that is hidden starts shims.
        return stat.parent
    KNOWN.place(shim)
    return None


def remember_parent(pid: int, above: Mapping[int, Stat]) -> None:
    """Remember that a caller's parent lies outside, as was found of the caller. above: what was read on the way.

    Without a terminal server that is known, what lies below it could not be told from what lies outside.
    """
    parent = above[pid].parent if pid in above else 0
    found = above.get(parent)
    if found is None or not KNOWN.servers or KNOWN.is_outside(parent):
        return
    held = hold(parent, partial(_is_still, parent, found))
    if held is not None:
        KNOWN.add_outsider(held)


def _is_still(pid: int, found: Stat) -> bool:
    return stat_of(pid) == found


def _is_there(pid: int, start_time: int) -> bool:
    """Whether this is the process that it was; of one that cannot be read any more, whether any has the number."""
    stat = stat_of(pid)
    return stat.start_time == start_time if stat is not None else hidden.exists(pid)
