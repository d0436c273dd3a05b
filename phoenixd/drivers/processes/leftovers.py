"""Leftovers: processes that runs of an agent own, chosen by age, name and port; strangers are reported, never touched.

A process is a run's by the same three nets as in a fence: it sits in a cgroup leaf of the agent, it descends from the
agent's living shim, or its environment names one of the agent's runs in this state directory. All of an earlier run is
left over. Of the living run only what the operator's patterns and ports name is chosen, and never the agent itself.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import anyio

from phoenixd import hidden
from phoenixd.core.agent import Agent
from phoenixd.core.seat.names import seat_name
from phoenixd.drivers.processes import proc
from phoenixd.errors import PhoenixdError
from phoenixd.ports.processes import Leftover, Leftovers, PortHolder, ProcessIdentity

PATIENCE = 2.0
"""Seconds in which what was killed has to be gone."""
ROUNDS = 20
CLEANUPS_AT_ONCE = 4
REPORTED = 100
COMMAND_LIMIT = 200


class OwnedLeaves(Protocol):
    """The cgroups of the runs, as phoenixd.drivers.cgroups.tree keeps them."""

    def owner_of(self, pid: int) -> tuple[str, int] | None: ...


@dataclass(frozen=True, slots=True)
class Choice:
    """Whose leftovers are meant, and which. run_id, incarnation and agent_pid belong to the living run, if any."""

    agent: str
    state_dir: Path
    match: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    run_id: str | None = None
    incarnation: int | None = None
    agent_pid: int | None = None


@dataclass(slots=True)
class _Census:
    """One look at the process table. owned: pid to the words for whose it is; living: those of the living run."""

    owned: dict[int, str] = field(default_factory=dict)
    living: set[int] = field(default_factory=set)


class Cleaner:
    """Looks and kills; blocking, so that it belongs into a worker thread."""

    def __init__(
        self,
        leaves: OwnedLeaves | None = None,
        shim_of: Callable[[str], ProcessIdentity | None] = lambda agent: None,
        listeners: Callable[[Sequence[int]], list[tuple[int, int | None]]] | None = None,
    ) -> None:
        self._leaves = leaves
        self._shim_of = shim_of
        self._listeners = listeners or listening

    def clean(self, choice: Choice, *, dry_run: bool = False) -> Leftovers:
        """Find what is left over, and unless it is a dry run end it; raises PhoenixdError where it cannot look."""
        found: dict[int, Leftover] = {}
        deadline = time.monotonic() + PATIENCE
        try:
            for _ in range(ROUNDS):
                held = self._holders(choice)
                chosen = self._chosen(choice, held)
                fresh = [one for one in chosen if one.pid not in found]
                found |= {one.pid: one for one in chosen}
                if dry_run or not chosen:
                    break
                self._end(choice, chosen, deadline)
                if not fresh and time.monotonic() > deadline:
                    break
            owned = self._census(choice).owned
        except OSError as error:
            raise PhoenixdError(f"the processes of {choice.agent} cannot be seen: {error.strerror}") from error
        remaining = () if dry_run else tuple(sorted(one.pid for one in chosen))
        foreign = tuple(
            PortHolder(port, pid, _command(pid)) for port, pid in held if pid is None or pid not in owned | found
        )
        return Leftovers(tuple(found.values())[:REPORTED], foreign, remaining)

    def _holders(self, choice: Choice) -> list[tuple[int, int | None]]:
        return self._listeners(choice.ports) if choice.ports else []

    def _census(self, choice: Choice) -> _Census:
        census = _Census()
        marks = (f"PHOENIX_STATE_DIR={choice.state_dir}".encode(), f"PHOENIX_AGENT={seat_name(choice.agent)}".encode())
        shim = self._shim_of(choice.agent)
        below = set(proc.descendants(shim.pid)) if shim is not None and _is_alive(shim) else set()
        spared = {os.getpid(), *proc.ancestors(os.getpid())}
        if shim is not None:
            spared |= {shim.pid, *proc.ancestors(shim.pid)}
        # What is below the shim is listed there also where it is hidden itself.
        for pid in {*proc.process_ids(), *below}:
            if pid in spared:
                continue
            leaf = self._leaves.owner_of(pid) if self._leaves is not None else None
            run = proc.run_marked(pid, marks)
            if leaf is not None and leaf[0] == choice.agent:
                is_living, whose = leaf[1] == choice.incarnation, f"run {leaf[1]}"
            elif run is not None:
                is_living, whose = run == choice.run_id, f"run id {run[:8]}"
            elif pid in below:
                is_living, whose = choice.run_id is not None, "below its shim"
            else:
                continue
            stat = proc.read_stat(pid)
            if stat is None and not (pid in below and hidden.exists(pid)):
                continue
            if stat is not None and (stat.state in "ZX" or stat.parent == os.getpid()):
                continue
            census.owned[pid] = whose
            if is_living and choice.run_id is not None:
                census.living.add(pid)
        return census

    def _chosen(self, choice: Choice, held: list[tuple[int, int | None]]) -> list[Leftover]:
        census = self._census(choice)
        ports = {pid: port for port, pid in held if pid is not None}
        chosen: dict[int, Leftover] = {}
        for pid, whose in census.owned.items():
            command = _command(pid)
            if pid not in census.living:
                chosen[pid] = Leftover(pid, command, f"left over ({whose})")
                continue
            if pid == choice.agent_pid:
                continue
            pattern = next((pattern for pattern in choice.match if pattern in command), None)
            if pid in ports:
                chosen[pid] = Leftover(pid, command, f"holds port {ports[pid]}")
            elif pattern is not None:
                chosen[pid] = Leftover(pid, command, f'matches "{pattern}"')
        for top in [pid for pid in chosen if pid in census.living]:
            for pid in proc.descendants(top):
                if pid in census.living and pid != choice.agent_pid:
                    chosen.setdefault(pid, Leftover(pid, _command(pid), f"started by {top}"))
        return list(chosen.values())

    def _end(self, choice: Choice, chosen: list[Leftover], deadline: float) -> None:
        """SIGKILL by pidfd. Whose each one is, is asked again while its pidfd holds it."""
        pidfds: dict[int, int] = {}
        try:
            for one in chosen:
                try:
                    pidfds[one.pid] = os.pidfd_open(one.pid)
                except ProcessLookupError:
                    continue
            still = {one.pid for one in self._chosen(choice, self._holders(choice))}
            for pid, pidfd in pidfds.items():
                if pid in still and not proc.has_ended(pidfd):
                    _send(pidfd)
            ending = [pidfd for pid, pidfd in pidfds.items() if pid in still]
            while time.monotonic() < deadline and not all(map(proc.has_ended, ending)):
                time.sleep(0.005)
        finally:
            for pidfd in pidfds.values():
                os.close(pidfd)


def listening(ports: Sequence[int]) -> list[tuple[int, int | None]]:
    """Who listens on these TCP ports: port and pid, None where the kernel does not tell us."""
    import psutil  # At the first cleanup that names a port: a daemon that never has one pays nothing for it.

    found = {
        (connection.laddr.port, connection.pid)
        for connection in psutil.net_connections(kind="tcp")
        if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port in ports
    }
    return sorted(found, key=lambda one: (one[0], one[1] or 0))


def _command(pid: int | None) -> str:
    if pid is None:
        return ""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(4096).replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""
    stat = proc.read_stat(pid) if not words else None
    text = words or (stat.command if stat else "(hidden)" if hidden.exists(pid) else "")
    return "".join(character if character.isprintable() else "?" for character in text)[:COMMAND_LIMIT]


def _is_alive(identity: ProcessIdentity) -> bool:
    stat = proc.read_stat(identity.pid)
    return stat is not None and stat.start_time == identity.start_time and stat.state != "Z"


def _send(pidfd: int) -> None:
    try:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


class RunCleaner:
    """Implements ports.Cleaner over `Cleaner`, off the loop."""

    def __init__(self, cleaner: Cleaner, state_of: Callable[[str], Path]) -> None:
        self._cleaner = cleaner
        self._state_of = state_of
        self._threads = anyio.CapacityLimiter(CLEANUPS_AT_ONCE)

    async def clean(self, agent: Agent, *, dry_run: bool = False) -> Leftovers:
        run, rules = agent.run, agent.spec.cleanup
        choice = Choice(
            agent.name,
            self._state_of(agent.name),
            rules.match,
            rules.ports,
            run.run_id if run else None,
            run.incarnation if run else None,
            run.pid if run else None,
        )
        return await anyio.to_thread.run_sync(
            lambda: self._cleaner.clean(choice, dry_run=dry_run), limiter=self._threads
        )
