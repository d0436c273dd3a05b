"""The cgroup v2 tree in which each run gets a leaf of its own, where the host lets us have one.

A leaf is the one net without holes: what a process forks is born in it, whatever it does to its session, its parents
and its environment, and cgroup.kill ends all of it at once. A process leaves it only by writing into another
cgroup.procs, which is what the run-id sweep looks for.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import weakref
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Literal

import structlog

UNIT = re.compile(r"phoenixd-tmux(-[0-9a-f]+)?\.(service|scope)")
"""The unit of the tmux server: installed as a service, or the scope that the tmux driver asks systemd for."""

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
OURS = re.compile(r"phoenixd-[0-9a-f]{12}")
"""A root that some daemon made for itself: the digits are a hash of its state directory."""
JOB = re.compile(r"[a-z]+-[0-9a-f]{8}")
"""The name of a job's leaf: no number, and so no run's."""
MOUNTS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
"""Where cgroup v2 is on today's hosts, and on those that still mount the controllers of v1 beside it."""

Tier = Literal["cgroup", "subreaper"]

log = structlog.get_logger("phoenixd.cgroups")


class CgroupTree:
    """A delegated subtree with `agents/<name>/<incarnation>` leaves. No shim is in it: a kill must not reach one."""

    def __init__(self, root: Path, mount: Path) -> None:
        self.root = root
        self._mount = mount
        self._agents = root / "agents"
        self._below_mount = os.path.relpath(self._agents, mount)
        self._jobs: set[Path] = set()

    @classmethod
    def find(cls, state_dir: Path, *, explicit: Path | None = None, server_pid: int | None = None) -> CgroupTree | None:
        """Return a tree that we may write and kill in, or None; never raises.

        explicit: a root that the operator names. server_pid: the tmux server, whose unit delegates its cgroup to us.
        Elsewhere a root of our own is made only where no systemd owns the hierarchy.
        """
        mount = next((mount for mount in MOUNTS if (mount / "cgroup.controllers").exists()), None)
        if mount is None:
            return None
        for root in _candidates(mount, state_dir, explicit, server_pid):
            tree = cls(root, mount)
            try:
                tree._agents.mkdir(parents=True, exist_ok=True)
            except OSError:
                continue
            if os.access(tree._agents / "cgroup.kill", os.W_OK) and os.access(root / "cgroup.procs", os.W_OK):
                tree._hold()
                tree._remove_abandoned()
                return tree
        return None

    @property
    def agents_path(self) -> str:
        """The cgroup above all agents' leaves, as /proc/PID/cgroup spells it."""
        return f"/{self._agents.relative_to(self._mount)}"

    def create_leaf(self, agent: str, incarnation: int) -> str | None:
        """Return the path of a run's leaf, for its order; None where it cannot be had, and the run goes without."""
        leaf = self._leaf(agent, incarnation)
        try:
            leaf.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            log.warning("no cgroup for run", agent=agent, incarnation=incarnation, error=error.strerror)
            return None
        return str(leaf)

    def create_job_leaf(self, agent: str, job: str) -> str | None:
        """Return the path of the leaf for one job that is done for an agent, beside those of its runs; None without."""
        leaf = self._job(agent, job)
        try:
            leaf.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            log.warning("no cgroup for job", agent=agent, error=error.strerror)
            return None
        self._jobs.add(leaf)
        return str(leaf)

    def end_job(self, agent: str, job: str) -> None:
        """Kill what is left of a job, and take its leaf away; one that does not go yet is left to `prune`."""
        leaf = self._job(agent, job)
        self._jobs.discard(leaf)
        with contextlib.suppress(OSError):  # There is none.
            (leaf / "cgroup.kill").write_text("1", encoding="ascii")
        _remove(leaf)

    def end_jobs(self) -> None:
        """End every job: a daemon that begins knows of none, and the daemon that began these is gone."""
        for home in _directories(self._agents):
            for leaf in _directories(home):
                if NAME.fullmatch(home.name) and JOB.fullmatch(leaf.name):
                    self.end_job(home.name, leaf.name)

    def members(self, agent: str, incarnation: int) -> frozenset[int]:
        """Processes in a run's leaf, also in cgroups that the run made below it. Zombies are not among them."""
        found: set[int] = set()
        for directory in _below(self._leaf(agent, incarnation)):
            with contextlib.suppress(OSError):  # Removed since it was listed, so nothing is in it.
                found.update(map(int, (directory / "cgroup.procs").read_text(encoding="ascii").split()))
        return frozenset(found)

    def kill(self, agent: str, incarnation: int) -> bool:
        """Send SIGKILL to everything in a run's leaf at once; False where there is no leaf."""
        try:
            (self._leaf(agent, incarnation) / "cgroup.kill").write_text("1", encoding="ascii")
        except OSError:
            return False
        return True

    def has(self, agent: str, incarnation: int) -> bool:
        """Whether the run has a leaf; one in which anything lives cannot be removed."""
        return self._leaf(agent, incarnation).is_dir()

    def prune(self, agent: str, keep: int | None = None) -> None:
        """Remove the empty leaves of the agent's runs except that of incarnation `keep`; what is not empty stays.

        The leaf of a job that goes on is left alone: the job may be about to enter it.
        """
        home = self._agent(agent)
        for leaf in _directories(home):
            if leaf.name != str(keep) and leaf not in self._jobs:
                _remove(leaf)
        if keep is None:
            with contextlib.suppress(OSError):
                home.rmdir()

    def discard(self) -> None:
        """Remove the whole tree, for a daemon that goes for good; what is not empty stays."""
        _remove(self.root)

    def owner_of(self, pid: int) -> tuple[str, int] | None:
        """Agent and incarnation whose leaf a process is in, as the kernel attests it."""
        path, above = _path_of(pid), f"{self._below_mount}/"
        if path is None or not path.startswith(above):
            return None
        agent, incarnation, *_ = (*path.removeprefix(above).split("/"), "", "")
        return (agent, int(incarnation)) if NAME.fullmatch(agent) and incarnation.isdigit() else None

    def leaf_of(self, agent: str, incarnation: int) -> Path:
        """Where the kernel keeps its counters of a run, whether there is such a leaf or not."""
        return self._leaf(agent, incarnation)

    def _hold(self) -> None:
        """Have others see, until this process ends, that the tree is in use although nothing may live in it."""
        with contextlib.suppress(OSError):
            descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            weakref.finalize(self, os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def _remove_abandoned(self) -> None:
        """Remove the trees beside ours that no daemon holds and nothing lives in: their state directories are dead.

        Where that is wrong after all, because a daemon is just beginning, it makes again what it needs.
        """
        if not OURS.fullmatch(self.root.name):
            return
        for root in _directories(self.root.parent):
            if root != self.root and OURS.fullmatch(root.name) and not _is_populated(root):
                _remove_unless_held(root)

    def _agent(self, agent: str) -> Path:
        if not NAME.fullmatch(agent):
            raise ValueError(f"no agent's name: {agent!r}")
        return self._agents / agent

    def _job(self, agent: str, job: str) -> Path:
        if not JOB.fullmatch(job):
            raise ValueError(f"no job's name: {job!r}")
        return self._agent(agent) / job

    def _leaf(self, agent: str, incarnation: int) -> Path:
        return self._agent(agent) / str(int(incarnation))


def tier(tree: CgroupTree | None) -> Tier:
    """How sure a kill is: by cgroup, or by the shim being its tree's subreaper and the run id in the environment."""
    return "subreaper" if tree is None else "cgroup"


def _candidates(mount: Path, state_dir: Path, explicit: Path | None, server_pid: int | None) -> Iterator[Path]:
    if explicit is not None:
        yield explicit
        return
    home = _cgroup_of(os.getpid() if server_pid is None else server_pid, mount)
    if home is None:
        return
    yield from (directory for directory in (home, *home.parents) if UNIT.fullmatch(directory.name))
    if not os.path.isdir("/run/systemd/system"):
        # Below where the server lives, so that a daemon which an agent starts stays within that agent's own leaf.
        yield home / f"phoenixd-{sha256(os.fsencode(os.path.abspath(state_dir))).hexdigest()[:12]}"


def _cgroup_of(pid: int, mount: Path) -> Path | None:
    path = _path_of(pid)
    return None if path is None else mount / path


def _path_of(pid: int) -> str | None:
    """Where a process is, below the mount."""
    try:
        with open(f"/proc/{pid}/cgroup", encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    path = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
    return None if path is None or ".." in path.split("/") else path


def _below(top: Path) -> Iterator[Path]:
    """A cgroup and all cgroups in it, parents first."""
    waiting = [top]
    while waiting:
        directory = waiting.pop()
        yield directory
        waiting += _directories(directory)


def _directories(path: Path) -> list[Path]:
    try:
        with os.scandir(path) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _is_populated(root: Path) -> bool:
    """Whether anything lives in a cgroup or below it; one that cannot be asked is left alone as if it did."""
    try:
        return "populated 0" not in (root / "cgroup.events").read_text(encoding="ascii")
    except OSError:
        return True


def _remove_unless_held(root: Path) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(root)
        finally:
            os.close(descriptor)


def _remove(leaf: Path) -> None:
    for directory in reversed(list(_below(leaf))):
        with contextlib.suppress(OSError):  # Something lives in it, or came into it just now.
            directory.rmdir()
