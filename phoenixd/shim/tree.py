"""A run's processes: found wherever they hid, and killed without ever hitting a stranger.

The shim is a subreaper, so that whatever the agent started stays below it: setsid, double forks and daemons included.
What is left of a run is therefore nothing once the shim has no child. The sweep for the run id in /proc/PID/environ
finds what an outsider started on the agent's behalf (a tmux server, a service manager). A control group, where there
is one, kills at once what forks faster than a loop can follow, and where it is empty as well, the daemon sweeps for
many runs together after the next start (unswept.py).
"""

from __future__ import annotations

import os
import signal

import procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

REMEMBERED_KILLS = 100


class Leaf:
    """The control group of one run; the shim itself must never be in it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def kill(self) -> None:
        """Kill all members in one step."""
        try:
            fd = os.open(f"{self.path}/cgroup.kill", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:  # Linux before 5.14, or the leaf was removed: the loop over the children does the work.
            return
        try:
            os.write(fd, b"1")
        except OSError:
            return
        finally:
            os.close(fd)

    def members(self) -> list[int]:
        return [int(pid) for pid in procfs.read(f"{self.path}/cgroup.procs").split()]

    def populated(self) -> bool:
        """Whether anything lives in the leaf or below it; a leaf that is gone is empty."""
        return b"populated 1" in procfs.read(f"{self.path}/cgroup.events")

    def is_known_empty(self) -> bool:
        """Whether the kernel says that nothing lives in it or below; a zombie does not. Unreadable is not empty."""
        return b"populated 0" in procfs.read(f"{self.path}/cgroup.events")


class Tree:
    """Everything that one run started, seen from the shim."""

    def __init__(self, agent: str, run_id: str, cgroup: str | None) -> None:
        self._marks = (f"PHOENIX_AGENT={agent}".encode(), f"PHOENIX_RUN_ID={run_id}".encode())
        self._leaf = Leaf(cgroup) if cgroup else None
        self._reaper = os.getpid()
        self._signalled: set[int] = set()
        self._forks_before = procfs.forks()
        self._root = 0
        self.killed: dict[int, str] = {}

    def begins_with(self, pid: int) -> None:
        """The agent's own pid."""
        self._root = pid

    def kill_group(self) -> None:
        """Kill all processes in the run's control group, together."""
        if self._leaf is None or not self._leaf.populated():
            return
        members = self._leaf.members()
        # An agent with the rights for it may have moved the shim in there, and then the loop must do alone.
        if self._reaper in members:
            return
        for pid in members:
            self._remember(pid)
        self._leaf.kill()

    def kill_descendants(self) -> bool:
        """Kill all descendants in one pass; True if it met one that the pass before did not."""
        signalled = set[int]()
        parents = dict.fromkeys(procfs.children(self._reaper), self._reaper)
        queue = list(parents)
        while queue:
            pid = queue.pop()
            offspring = [child for child in procfs.children(pid) if child not in parents]
            parents.update(dict.fromkeys(offspring, pid))
            queue.extend(offspring)
            if _kill(pid, lambda pid: self._is_living_descendant(pid, parents[pid]), self._remember):
                signalled.add(pid)
        met_new = not signalled <= self._signalled
        self._signalled = signalled
        return met_new

    def is_leaf_empty(self) -> bool:
        """Whether the run has a leaf, and nothing is left in it."""
        return self._leaf is not None and self._leaf.is_known_empty()

    def kill_strays(self) -> bool:
        """Kill what carries the run's marks or sits in its leaf; True if there was anything."""
        strays = self._strays()
        for pid in strays:
            _kill(pid, self._is_stray, self._remember)
        foreign_members = self._leaf is not None and self._leaf.populated() and self._reaper not in self._leaf.members()
        self.kill_group()
        return bool(strays) or foreign_members

    def survivors(self) -> list[int]:
        """Whatever still lives of the run, by any of the three ways to find it."""
        found = set(self._strays())
        if self._leaf is not None:
            found.update(self._leaf.members())
        queue = [self._reaper]
        while queue:
            offspring = set(procfs.children(queue.pop())) - found
            found |= offspring
            queue.extend(offspring)
        return sorted(pid for pid in found if _lives(pid))

    def _strays(self) -> list[int]:
        # The shim and those above it are never the run's, whatever their environment says.
        spared, oldest = procfs.ancestors(self._reaper), self._oldest()
        return [pid for pid in procfs.all_pids() if pid >= oldest and pid not in spared and self._is_stray(pid)]

    def _oldest(self) -> int:
        return oldest_pid(self._root, self._forks_before, procfs.forks(), procfs.pid_limit(), procfs.last_pid())

    def _is_stray(self, pid: int) -> bool:
        return procfs.environment_has(pid, self._marks) and _lives(pid)

    def _is_living_descendant(self, pid: int, parent: int) -> bool:
        """parent: who listed it as a child, and is asked again where it cannot be read itself (hidepid)."""
        current = procfs.status(pid)
        if current is None:
            return procfs.descends_from(parent, self._reaper) is True and pid in procfs.children(parent)
        if current.state in "ZX":
            return False
        return procfs.descends_from(current.parent, self._reaper) is True

    def _remember(self, pid: int) -> None:
        if len(self.killed) < REMEMBERED_KILLS and pid not in self.killed:
            self.killed[pid] = procfs.command(pid) or ("(hidden)" if procfs.is_hidden(pid) else "")


def oldest_pid(root: int, forks_before: int, forks_now: int, limit: int, last: int) -> int:
    """The lowest pid that a run's processes may have, where its agent has `root`; 0 where it can be any.

    Pids are given in turn, so that whatever was begun after the agent has a higher one, until the numbers begin again
    from below. On a busy host this spares reading the environment of every process at every end.
    """
    # Half of the room, because numbers that are taken, and forks that fail, use it up as well.
    has_room = 0 < forks_before <= forks_now and forks_now - forks_before < (limit - root) // 2
    return root if has_room and last >= root else 0


def _lives(pid: int) -> bool:
    current = procfs.status(pid)
    return current.state not in "ZX" if current is not None else procfs.is_hidden(pid)


def _kill(pid: int, is_ours: Callable[[int], bool], remember: Callable[[int], None]) -> bool:
    """SIGKILL through a pidfd; the question is asked after the pidfd holds the process.

    A pid that was handed on in between either answers the question wrongly, or belongs to a process that the pidfd
    does not mean: the signal then goes to the dead one, and nowhere.
    """
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not is_ours(pid):
            return False
        remember(pid)
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except ProcessLookupError:
        return False
    except PermissionError:  # A program of another user that the agent could start, and this user cannot end.
        return True
    finally:
        os.close(pidfd)
    return True
