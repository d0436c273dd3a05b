"""Processes of our own user that cannot be read, and so may be of a run whose mark they would bear.

Such are programs that may not be traced (sshd's, an ssh-agent, a hardened CLI); root reads them all. Under hidepid they
are not even listed, and are found by their numbers. A process that began before the run, or descends from one that did,
is no part of it: what a run leaves behind is adopted by the first process or by one above us.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from phoenixd import hidden
from phoenixd.drivers.processes import proc
from phoenixd.ports.processes import ProcessIdentity

FEW_NUMBERS = 1 << 17
"""Up to this many numbers can be tried in a moment; beyond it, only those that were given since the run began."""
MOST = 100


def unread(child: ProcessIdentity | None) -> tuple[int, ...]:
    """Those that may be of a run, by number. child: the agent itself, as it was; None: it is not known.

    Raises OSError where /proc cannot be listed.
    """
    since = child.start_time if child is not None else 0
    reapers = {1, os.getpid(), *proc.ancestors(os.getpid())}
    found = [
        pid
        for pid in (*proc.process_ids(), *_hidden(child))
        if pid not in reapers
        and not hidden.is_foreign(pid)
        and not _reads(pid)
        and _may_follow(pid, since, reapers)
        and _lives(pid)
    ]
    return tuple(sorted(set(found))[:MOST])


def _reads(pid: int) -> bool:
    """Whether its environment can be read; also where it has none any more, or is gone."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            file.read(1)
    except PermissionError:
        return False
    except proc.GONE:
        return proc.is_kernel(pid) or not hidden.exists(pid)
    return True


def _may_follow(pid: int, since: int, reapers: set[int]) -> bool:
    """Whether a process may descend from one that began at `since`, in clock ticks, and has lost its parents."""
    if proc.read_stat(pid) is None:
        # Hidden. Its session tells: it descends from that one's leader.
        session = _session(pid)
        leader = proc.read_stat(session) if session != pid else None
        return leader is None or leader.start_time >= since
    for one in (pid, *proc.ancestors(pid)):
        stat = proc.read_stat(one)
        if one in reapers or stat is None:
            return True
        if stat.start_time < since:
            return False
    return True


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return pid


def _hidden(child: ProcessIdentity | None) -> Iterator[int]:
    """The numbers of processes that are not listed; threads have numbers as well, and are not meant."""
    if hidden.hidepid() is None:
        return
    for pid in _numbers(child):
        if hidden.exists(pid) and not hidden.is_foreign(pid) and proc.is_hidden(pid):
            yield pid


def _numbers(child: ProcessIdentity | None) -> Iterator[int]:
    most = int(Path("/proc/sys/kernel/pid_max").read_text(encoding="ascii"))
    last = int(Path("/proc/loadavg").read_text(encoding="ascii").split()[4])
    first = child.pid if child is not None else 2
    if most <= FEW_NUMBERS:
        yield from range(2, most)
    elif first <= last:
        yield from range(first, last + 1)
    else:
        yield from range(first, most)
        yield from range(2, last + 1)


def _lives(pid: int) -> bool:
    """Whether a process has that number, and is no zombie; a thread's number is none of a process."""
    try:
        pidfd = os.pidfd_open(pid)
    except OSError as error:
        # EINVAL: the number belongs to a thread.
        if error.errno in (errno.ESRCH, errno.EINVAL):
            return False
        raise
    try:
        return not proc.has_ended(pidfd)
    finally:
        os.close(pidfd)
