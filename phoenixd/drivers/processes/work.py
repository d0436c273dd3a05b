"""What some processes of a run have done, from /proc alone: CPU from stat, storage from io.

A build starts thousands of compilers that live for a moment, and no look meets them. What they did is not lost: when a
parent waits for a child, the kernel adds the child's times to the parent's cutime and cstime, and its I/O to the
parent's io, with all that the child had from its own children. So the sum over the living holds the dead, as long as
one of those that began in time has waited for them. What is lost (a parent that waits for nobody) makes the sum
smaller, never larger. A cgroup's counters would hold all of it, and could not tell a build from a server that was there
before it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from phoenixd.drivers.processes import proc
from phoenixd.ports.processes import ProcessIdentity, WorkDone

TICK = 1.0 / os.sysconf("SC_CLK_TCK")
"""Seconds in a clock tick."""

MOST_PROCESSES = 4096
"""Processes of a run that are looked at: a fork storm must not cost the daemon more."""


@dataclass(frozen=True, slots=True)
class _Line:
    start_time: int
    ticks: int


def work_since(root: ProcessIdentity, members: frozenset[int], ticks: int) -> WorkDone:
    """Sum up the processes among `members` and below `root` that began at `ticks`, in clock ticks since boot, or later.

    The call's own processes begin within the same tick at the earliest, and a tick is the finest that /proc tells.
    """
    found = {*members, *_below(root)}
    if not members:
        # A list of children is read while they come and go, and can miss one that stays.
        found |= _below(root)
    spent = io = count = unread = 0
    for pid in sorted(found)[:MOST_PROCESSES]:
        try:
            line = _read_line(pid)
        except PermissionError:
            unread += 1
            continue
        if line is None:
            unread += proc.is_hidden(pid)
            continue
        if line.start_time < ticks:
            continue
        count += 1
        spent += line.ticks
        moved = _read_io(pid)
        unread += moved is None
        io += moved or 0
    return WorkDone(spent * TICK, io, count, unread)


def _below(root: ProcessIdentity) -> set[int]:
    """What descends from a process, as far as it can be seen."""
    above = proc.read_stat(root.pid)
    if above is None or above.start_time != root.start_time:
        return set()
    found: set[int] = set()
    waiting = [root.pid]
    while waiting and len(found) < MOST_PROCESSES:
        try:
            children = proc.children(waiting.pop())
        except PermissionError:
            continue
        waiting += [child for child in children if child not in found]
        found.update(children)
    return found


def _read_line(pid: int) -> _Line | None:
    """When a process began, and its own ticks with those of the dead children that it waited for; None: it is gone."""
    try:
        content = proc.read(f"/proc/{pid}/stat")
    except proc.GONE:
        return None
    # The command stands in parentheses, and may itself hold any of them.
    fields = content.rpartition(b")")[2].split()
    return _Line(int(fields[19]), sum(map(int, fields[11:15])))


def _read_io(pid: int) -> int | None:
    """Bytes that a process and its dead children had from storage and gave to it; None where that cannot be read.

    Terminals, pipes and sockets are not among them: what is printed is no work.
    """
    try:
        content = proc.read(f"/proc/{pid}/io")
    except proc.GONE:
        return 0
    except OSError:
        return None
    fields = dict(line.split(b": ", 1) for line in content.splitlines() if b": " in line)
    return int(fields.get(b"read_bytes", 0)) + int(fields.get(b"write_bytes", 0))
