"""Processes by identity: watched and signalled through pidfds, never by name and never by a bare number."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable

import anyio

from phoenixd.core.boot import Boot
from phoenixd.drivers.processes import proc
from phoenixd.drivers.processes.fence import FENCE_LIMIT, Fence, Leaves
from phoenixd.drivers.processes.work import work_since
from phoenixd.errors import PhoenixdError
from phoenixd.ports.processes import Fenced, ProcessIdentity, WorkDone

FENCES_AT_ONCE = 8


def identity_of(pid: int) -> ProcessIdentity | None:
    """Who has that number at this moment; None when nobody does, or only a zombie."""
    stat = proc.read_stat(pid)
    return None if stat is None or stat.state == "Z" else ProcessIdentity(proc.boot_id(), pid, stat.start_time)


class Processes:
    """The process table of this host; implements ports.ProcessTable.

    leaves: the runs' cgroups, where there are any. reaper_of: the living shim of an agent, whose descendants are the
    run's, because it is their subreaper.
    """

    def __init__(
        self,
        *,
        leaves: Leaves | None = None,
        reaper_of: Callable[[str], ProcessIdentity | None] = lambda agent: None,
        fence_limit: float = FENCE_LIMIT,
    ) -> None:
        self._leaves = leaves
        self._reaper_of = reaper_of
        self._fence_limit = fence_limit
        self._fences = anyio.CapacityLimiter(FENCES_AT_ONCE)
        self._looks = anyio.CapacityLimiter(1)
        self._watched: dict[ProcessIdentity, int] = {}

    def boot_id(self) -> str:
        return proc.boot_id()

    def boot(self) -> Boot:
        """Which life of the process table this is; of the first process nothing is known where it is hidden."""
        first = proc.read_stat(1)
        return Boot(proc.boot_id(), os.stat("/proc/self/ns/pid").st_ino, first.start_time if first else 0)

    def identity_of(self, pid: int) -> ProcessIdentity | None:
        """Who has that number at this moment; None when nobody does, or only a zombie."""
        return identity_of(pid)

    def watch(self, identity: ProcessIdentity, on_death: Callable[[], None]) -> bool:
        """Call back once, from the running loop, when that very process dies; False when it is gone already.

        Raises PhoenixdError when the process cannot be watched, which says nothing about the process.
        """
        self.forget(identity)
        pidfd = _open(identity)
        if pidfd is None:
            return False

        def died() -> None:
            self.forget(identity)
            on_death()

        self._watched[identity] = pidfd
        asyncio.get_running_loop().add_reader(pidfd, died)
        return True

    def forget(self, identity: ProcessIdentity) -> None:
        """Stop watching; nothing happens where nobody watches."""
        pidfd = self._watched.pop(identity, None)
        if pidfd is not None:
            asyncio.get_running_loop().remove_reader(pidfd)
            os.close(pidfd)

    def close(self) -> None:
        """Stop watching everything."""
        for identity in list(self._watched):
            self.forget(identity)

    def is_alive(self, identity: ProcessIdentity) -> bool:
        """Whether it lives; also where a process of that number is hidden from us, for then it is not known gone."""
        pidfd = _open(identity)
        if pidfd is None:
            return False
        os.close(pidfd)
        return True

    def is_below(self, identity: ProcessIdentity, root: ProcessIdentity) -> bool | None:
        """Whether a process descends from another at this moment, reaped or not; None when nobody has its number."""
        if identity.boot_id != proc.boot_id():
            return None
        stat = proc.read_stat(identity.pid)
        if stat is None and proc.is_hidden(identity.pid):
            return identity.pid in proc.descendants(root.pid)
        if stat is None or stat.start_time != identity.start_time:
            return None
        above = proc.read_stat(root.pid)
        return above is not None and above.start_time == root.start_time and root.pid in proc.ancestors(identity.pid)

    async def work_since(self, agent: str, incarnation: int, child: ProcessIdentity, ticks: int) -> WorkDone:
        """Sum up what the run's processes did that began at `ticks` or later; see processes_work."""
        reaper = self._reaper_of(agent) or child
        members = self._leaves.members(agent, incarnation) if self._leaves is not None else frozenset()
        return await anyio.to_thread.run_sync(work_since, reaper, members, ticks, limiter=self._looks)

    async def fence(self, agent: str, incarnation: int, run_id: str, child: ProcessIdentity | None) -> Fenced:
        """End all that belongs to the run, and look again until nothing is found or five seconds are over.

        Raises PhoenixdError when /proc could not be read, which says nothing about the run: unknown is not gone.
        """
        fence = Fence(agent, incarnation, run_id, child, self._reaper_of(agent), self._leaves)
        return await anyio.to_thread.run_sync(fence.run, self._fence_limit, limiter=self._fences)


def _open(identity: ProcessIdentity) -> int | None:
    """A pidfd of that very process, or None when it is gone or a zombie.

    The pidfd is opened first and everything else is read after it: as long as it says "alive", what /proc says about
    the number is about the process that the pidfd holds.
    """
    if identity.boot_id != proc.boot_id():
        return None
    try:
        pidfd = os.pidfd_open(identity.pid)
    except OSError as error:
        # EINVAL: the number belongs to a thread by now, so no process has it.
        if error.errno in (errno.ESRCH, errno.EINVAL):
            return None
        raise _unknown(identity, error) from error
    try:
        stat = proc.read_stat(identity.pid)
        # One that lives and cannot be read is hidden, which is not gone.
        if (stat is None or stat.start_time == identity.start_time) and not proc.has_ended(pidfd):
            return pidfd
    except OSError as error:
        os.close(pidfd)
        raise _unknown(identity, error) from error
    os.close(pidfd)
    return None


def _unknown(identity: ProcessIdentity, error: OSError) -> PhoenixdError:
    return PhoenixdError(
        f"process {identity.pid} cannot be watched: {error.strerror}",
        remedy="raise the limit on open files (LimitNOFILE= in the unit)",
    )
