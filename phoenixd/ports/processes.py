"""Processes by identity, what is left of runs, and what the kernel says of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from phoenixd.core.agent import Agent
from phoenixd.core.boot import Boot


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process that cannot be confused with a later one of the same pid. start_time: clock ticks since boot."""

    boot_id: str
    pid: int
    start_time: int


@dataclass(frozen=True, slots=True)
class Fenced:
    """What a fence did: processes ended (pid and command), and pids that were still alive at the end.

    unproven: nothing is seen, and nothing proves that there is nothing: the run has no leaf and its shim is gone.
    unread: processes of our own user which could not be read then, and may be the run's.
    """

    killed: tuple[str, ...] = ()
    remaining: tuple[int, ...] = ()
    unproven: bool = False
    unread: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Leftover:
    """A process that a run of ours owns, and why it was chosen."""

    pid: int
    command: str
    why: str


@dataclass(frozen=True, slots=True)
class PortHolder:
    """A stranger that listens on a port which an agent wants. pid: None where it is another user's, and unknown."""

    port: int
    pid: int | None
    command: str


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What a cleanup found: owned processes (ended, unless it was a dry run or they remain), and strangers at ports."""

    owned: tuple[Leftover, ...] = ()
    foreign: tuple[PortHolder, ...] = ()
    remaining: tuple[int, ...] = ()


class Cleaner(Protocol):
    """Ends what runs of an agent left over, and nothing else."""

    async def clean(self, agent: Agent, *, dry_run: bool = False) -> Leftovers:
        """Clean by the agent's rules; raises PhoenixdError where the process table cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run whose tree was proven empty when it ended."""

    agent: str
    incarnation: int
    run_id: str


class Sweeper(Protocol):
    """Ends what was started for ended runs from outside of their trees, and bears their marks."""

    async def sweep(self, runs: Iterable[EndedRun]) -> Mapping[EndedRun, Fenced]:
        """Look once for all of them; returns what was found of each. Raises OSError where it could not look."""
        ...


class Memory(Protocol):
    """What the kernel says of processes that it killed for want of memory."""

    def note(self) -> None:
        """Remember the counters as they are: what they have counted so far was another's."""
        ...

    def killer_of(self, agent: str, incarnation: int) -> Literal["", "agent", "host"]:
        """Whether a run that SIGKILL ended was killed at its own limit, or because the host had no memory left."""
        ...


@dataclass(frozen=True, slots=True)
class WorkDone:
    """What some processes have done in their lives, and their dead children: seconds of CPU, bytes from and to storage.

    unread: processes that could not be read in full, as where another user's are hidden: their work is unknown.
    """

    cpu: float = 0.0
    io: int = 0
    processes: int = 0
    unread: int = 0


class ProcessTable(Protocol):
    """Processes by identity, never by name."""

    def boot_id(self) -> str: ...

    def boot(self) -> Boot:
        """Which life of the process table this is."""
        ...

    def identity_of(self, pid: int) -> ProcessIdentity | None:
        """Who has that number at this moment; None when nobody does, or only a zombie."""
        ...

    def watch(self, identity: ProcessIdentity, on_death: Callable[[], None]) -> bool:
        """Call back once when that very process dies; False when it is gone already."""
        ...

    def is_alive(self, identity: ProcessIdentity) -> bool:
        """Same process and not a zombie."""
        ...

    def is_below(self, identity: ProcessIdentity, root: ProcessIdentity) -> bool | None:
        """Whether a process descends from another one; None when there is no such process (any more)."""
        ...

    async def work_since(self, agent: str, incarnation: int, child: ProcessIdentity, ticks: int) -> WorkDone:
        """What the run's processes have done that began at `ticks` (clock ticks since boot) or later."""
        ...

    async def fence(self, agent: str, incarnation: int, run_id: str, child: ProcessIdentity | None) -> Fenced:
        """End all of a run: its cgroup leaf, the child's descendants, and processes carrying the run id."""
        ...
