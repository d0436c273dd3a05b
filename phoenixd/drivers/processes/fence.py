"""One fence: end all that belongs to a run, and nothing else, until nothing of it can be found.

Three nets, because each has holes: the run's cgroup leaf (everything, where there is one), descendants of the agent
and of its shim (miss what was reparented once the shim is gone), and the run id in the environment (misses what
emptied its environment). Every process is held by a pidfd before it is judged, so that no number can be recycled
between the look and the signal.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import time
from collections.abc import Callable
from typing import Protocol

from phoenixd import hidden
from phoenixd.drivers.processes import proc
from phoenixd.drivers.processes.unread import unread
from phoenixd.errors import PhoenixdError
from phoenixd.ports.processes import Fenced, ProcessIdentity

FENCE_LIMIT = 5.0
HELD_AT_ONCE = 256
REPORTED = 100
PATIENCE = 0.05
QUIET_LOOKS = 10
"""Looks in a row that find nothing, before that counts although processes ended while they were looked at: any of
them may have handed the run on to a child that was not yet there to be listed. Two do where nothing was ever found."""


class Leaves(Protocol):
    """The cgroups of the runs, as phoenixd.drivers.cgroups.tree keeps them."""

    def members(self, agent: str, incarnation: int) -> frozenset[int]: ...

    def kill(self, agent: str, incarnation: int) -> bool: ...

    def has(self, agent: str, incarnation: int) -> bool: ...


class Fence:
    """The state of one fence. `run` blocks, so it belongs into a worker thread."""

    def __init__(
        self,
        agent: str,
        incarnation: int,
        run_id: str,
        child: ProcessIdentity | None = None,
        reaper: ProcessIdentity | None = None,
        leaves: Leaves | None = None,
    ) -> None:
        self._agent, self._incarnation = agent, incarnation
        self._run_id = run_id
        self._child, self._reaper = child, reaper
        self._leaves = leaves if incarnation > 0 else None  # Jobs of the daemon itself are in no leaf of a run.
        self._held: dict[int, int] = {}
        """pidfds of what is the run's and has not ended, by number."""
        self._seen: dict[int, str] = {}
        self._obstacle: OSError | None = None
        self._missed = False

    def run(self, limit: float = FENCE_LIMIT) -> Fenced:
        """Kill and look again until a whole look finds nothing; raises PhoenixdError when it could not look."""
        deadline = time.monotonic() + limit
        patience = 0.001
        quiet = 0
        try:
            while True:
                in_leaf = self._kill_leaf()
                self._collect()
                if not (in_leaf or self._held or self._obstacle):
                    quiet += 1
                    if not self._missed or quiet >= (QUIET_LOOKS if self._seen else 2):
                        return self._found_nothing()
                    continue
                quiet = 0
                patience = min(patience * 2, PATIENCE)
                self._kill_held(patience)
                if time.monotonic() > deadline:
                    return self._give_up(in_leaf | self._held.keys())
        finally:
            for pidfd in self._held.values():
                os.close(pidfd)

    def _found_nothing(self) -> Fenced:
        """What that is worth: an empty leaf and a living shim without children prove that there is nothing."""
        killed = self._report(frozenset())
        has_leaf = self._leaves is not None and self._leaves.has(self._agent, self._incarnation)
        if has_leaf or (self._reaper is not None and _lives(self._reaper)) or self._incarnation <= 0:
            return Fenced(killed)  # Below 1 it is no agent's, but one of the daemon's own jobs.
        try:
            return Fenced(killed, unproven=True, unread=unread(self._child))
        except OSError as error:
            raise PhoenixdError(
                f"whether something of run {self._incarnation} lives cannot be told: {error.strerror}",
                "phoenixctl doctor",
            ) from error

    def _give_up(self, remaining: frozenset[int]) -> Fenced:
        if self._obstacle and not remaining:
            raise PhoenixdError(
                f"what is left of {self._agent}'s run {self._run_id} cannot be seen: {self._obstacle.strerror}",
                remedy="end it as root, or wait until it ends"
                if self._obstacle.errno == errno.EACCES
                else "raise the limit on open files (LimitNOFILE= in the unit)",
            ) from self._obstacle
        return Fenced(self._report(remaining), tuple(sorted(remaining)))

    def _kill_leaf(self) -> frozenset[int]:
        if self._leaves is None:
            return frozenset()
        members = self._leaves.members(self._agent, self._incarnation)
        for pid in members:
            self._name(pid)
        if members:
            self._leaves.kill(self._agent, self._incarnation)
        return members

    def _collect(self) -> None:
        """Hold and stop what the other two nets find, parents before their children.

        A parent that is stopped cannot fork while its children are listed, and stays their parent until they are
        held too: killing it at once would hand them to somebody else.
        """
        self._obstacle = None
        try:
            if self._child is not None:
                self._hold(self._child.pid, _is(self._child))
            self._missed = False  # That the agent itself is gone is no surprise.
            self._hold_carriers()
            self._hold_descendants(list(self._held))
            if self._reaper is not None:
                self._hold_descendants(self._hold_orphans(self._reaper))
            self._require_seen()
        except OSError as error:
            self._obstacle = error

    def _require_seen(self) -> None:
        """Unknown is not gone: raise OSError while a process that cannot be read has the number of the run's agent.

        A leaf, and a shim that lives and has not reaped it, prove the same without reading it.
        """
        child = self._child
        if child is None or child.pid in self._held or child.boot_id != proc.boot_id() or self._leaves is not None:
            return
        has_shim = self._reaper is not None and _is(self._reaper)(self._reaper.pid)
        if not has_shim and proc.is_hidden(child.pid):
            raise OSError(errno.EACCES, f"process {child.pid} is hidden (hidepid)")

    def _hold_carriers(self) -> None:
        """Hold every process with the run id as soon as it is seen: one that moves on is gone a moment later.

        It has the newest number, so these come first: after all others it would never be met on a busy machine.
        """
        for pid in sorted(proc.process_ids(), reverse=True) if self._run_id else []:
            found = proc.carries(pid, self._run_id)
            if found:
                self._hold(pid, lambda pid: bool(proc.carries(pid, self._run_id)))
            elif found is None:
                self._missed = True

    def _hold_descendants(self, waiting: list[int]) -> None:
        while waiting:
            parent = waiting.pop()
            waiting += self._hold_children(parent, self._held[parent], lambda pid: True)

    def _hold_orphans(self, reaper: ProcessIdentity) -> list[int]:
        """Hold the children of a living shim, but not the shim, nor what carries the id of another run."""
        try:
            pidfd = os.pidfd_open(reaper.pid)
        except ProcessLookupError:
            return []
        try:
            if not _is(reaper)(reaper.pid):
                return []
            return self._hold_children(reaper.pid, pidfd, lambda pid: proc.run_of(pid) in (None, self._run_id))
        finally:
            os.close(pidfd)

    def _hold_children(self, parent: int, parent_pidfd: int, is_of_run: Callable[[int], bool]) -> list[int]:
        """Hold the children of a process that is held itself, and return those that were not held before."""

        def is_owned(pid: int) -> bool:
            # The parent is asked last: only a living one proves that its number was its own until here.
            return _is_child(pid, parent) and is_of_run(pid) and not proc.has_ended(parent_pidfd)

        return [pid for pid in proc.children(parent) if self._hold(pid, is_owned)]

    def _hold(self, pid: int, is_owned: Callable[[int], bool]) -> bool:
        """Open a pidfd, judge what it holds, and stop it when it is the run's."""
        if pid in self._held or pid == os.getpid() or len(self._held) >= HELD_AT_ONCE:
            return False
        try:
            pidfd = os.pidfd_open(pid)
        except OSError as error:
            if error.errno not in (errno.ESRCH, errno.EINVAL):
                raise
            self._missed = True
            return False
        # Asked after all else: as long as the process lives, what /proc said about its number was said about it.
        is_run = is_owned(pid) and not _is_our_child(pid)
        if not is_run or proc.has_ended(pidfd):
            self._missed |= is_run
            os.close(pidfd)
            return False
        self._held[pid] = pidfd
        self._name(pid)
        _send(pidfd, signal.SIGSTOP)
        return True

    def _kill_held(self, patience: float) -> None:
        """Kill what is held, and let go of what ends within a moment.

        The rest stays held: a process that is stuck on its way out has no environment any more to be found by.
        """
        poll = select.poll()
        held_before = bool(self._held)
        for pidfd in self._held.values():
            _send(pidfd, signal.SIGKILL)
            poll.register(pidfd, select.POLLIN)
        deadline = time.monotonic() + patience
        while True:
            for pid in [pid for pid, pidfd in self._held.items() if proc.has_ended(pidfd)]:
                poll.unregister(self._held[pid])
                os.close(self._held.pop(pid))
            left = deadline - time.monotonic()
            if left <= 0 or (held_before and not self._held):
                return
            poll.poll(left * 1000)

    def _name(self, pid: int) -> None:
        if pid in self._seen:
            return
        if (stat := proc.read_stat(pid)) is not None:
            self._seen[pid] = stat.command
        elif hidden.exists(pid):
            self._seen[pid] = "(hidden)"

    def _report(self, remaining: frozenset[int]) -> tuple[str, ...]:
        ended = [f"{pid} {command}" for pid, command in self._seen.items() if pid not in remaining]
        return (*ended[:REPORTED], *([f"and {len(ended) - REPORTED} more"] if len(ended) > REPORTED else []))


def _is(identity: ProcessIdentity) -> Callable[[int], bool]:
    def check(pid: int) -> bool:
        stat = proc.read_stat(pid)
        return stat is not None and stat.start_time == identity.start_time and identity.boot_id == proc.boot_id()

    return check


def _lives(identity: ProcessIdentity) -> bool:
    """Whether it can still be the parent of what it was the parent of: a zombie has lost its children."""
    stat = proc.read_stat(identity.pid)
    return _is(identity)(identity.pid) and stat is not None and stat.state not in "ZX"


def _is_our_child(pid: int) -> bool:
    """Whether a process is this daemon's own, even if the daemon was started from within the run and carries its id."""
    return _is_child(pid, os.getpid())


def _is_child(pid: int, parent: int) -> bool:
    """Whether a process has this parent, by its own line, or where that is hidden by its parent's list."""
    stat = proc.read_stat(pid)
    return stat.parent == parent if stat is not None else pid in proc.children(parent)


def _send(pidfd: int, number: signal.Signals) -> None:
    # A process that changed its user may not be signalled; it stays held, and is reported as remaining.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        signal.pidfd_send_signal(pidfd, number)
