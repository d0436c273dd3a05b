"""Strays: what somebody outside of a run's tree started for it, and bears the run's mark after its end.

The tree itself was proven empty before. One pass over the process table serves any number of runs, since reading every
process's environment is what costs. What lives in a newer run is spared, whatever mark it bears.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import anyio

from phoenixd.core.seat.names import seat_name
from phoenixd.drivers.processes import proc
from phoenixd.ports.processes import EndedRun, Fenced, ProcessIdentity

LIMIT = 5.0
"""Seconds in which what was killed has to be gone."""
PAUSE = 0.005


class OwnedLeaves(Protocol):
    """The cgroups of the runs, as phoenixd.drivers.cgroups keeps them."""

    def owner_of(self, pid: int) -> tuple[str, int] | None: ...


class StraySweeper:
    """Implements ports.Sweeper. shims: the living shims, whose descendants are of the runs that live."""

    def __init__(self, leaves: OwnedLeaves | None, shims: Callable[[], Iterable[ProcessIdentity]]) -> None:
        self._leaves = leaves
        self._shims = shims
        self._threads = anyio.CapacityLimiter(1)

    async def sweep(self, runs: Iterable[EndedRun]) -> Mapping[EndedRun, Fenced]:
        """End what is left of these runs; returns what was found of each. Raises OSError where it could not look."""
        wanted = {(seat_name(run.agent), run.run_id): run for run in runs}
        shims = frozenset(shim.pid for shim in self._shims())
        return await anyio.to_thread.run_sync(lambda: _Pass(wanted, shims, self._leaves).run(), limiter=self._threads)


class _Pass:
    def __init__(
        self, wanted: Mapping[tuple[str, str], EndedRun], shims: frozenset[int], leaves: OwnedLeaves | None
    ) -> None:
        self._wanted = wanted
        self._shims = shims
        self._leaves = leaves
        self._spared = {os.getpid(), *proc.ancestors(os.getpid())}
        for shim in shims:
            self._spared |= {shim, *proc.ancestors(shim)}
        self._ended: dict[EndedRun, dict[int, str]] = {}

    def run(self, limit: float = LIMIT) -> Mapping[EndedRun, Fenced]:
        deadline = time.monotonic() + limit
        while (found := self._find()) and time.monotonic() < deadline:
            self._end(found, deadline)
        remaining = {run: tuple(sorted(pid for pid in found if found[pid] == run)) for run in found.values()}
        return {
            run: Fenced(
                tuple(f"{pid} {name}" for pid, name in self._ended.get(run, {}).items() if pid not in found),
                remaining.get(run, ()),
            )
            for run in {*self._ended, *remaining}
        }

    def _find(self) -> dict[int, EndedRun]:
        return {pid: run for pid in proc.process_ids() if pid not in self._spared and (run := self._run_of(pid))}

    def _run_of(self, pid: int) -> EndedRun | None:
        """The ended run that a living process is left over from."""
        marks = proc.marks_of(pid)
        run = self._wanted.get(marks) if marks is not None else None
        if run is None or self._is_of_a_newer_run(pid, run):
            return None
        stat = proc.read_stat(pid)
        return run if stat is not None and stat.state not in "ZX" else None

    def _is_of_a_newer_run(self, pid: int, run: EndedRun) -> bool:
        # An agent may hand an old environment on; the shim of the ended run had no child left.
        if not self._shims.isdisjoint(proc.ancestors(pid)):
            return True
        owner = self._leaves.owner_of(pid) if self._leaves is not None else None
        return owner is not None and (owner[0] != run.agent or owner[1] > run.incarnation)

    def _end(self, found: Mapping[int, EndedRun], deadline: float) -> None:
        """SIGKILL by pidfd; whose each one is, is asked again while its pidfd holds it."""
        held: list[int] = []
        try:
            for pid, run in found.items():
                try:
                    pidfd = os.pidfd_open(pid)
                except ProcessLookupError:
                    continue
                held.append(pidfd)
                stat = proc.read_stat(pid)
                if self._run_of(pid) != run or stat is None or proc.has_ended(pidfd):
                    continue
                self._ended.setdefault(run, {})[pid] = stat.command
                try:
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    continue  # Gone by itself, or another user's by now, which the next look finds again.
            while time.monotonic() < deadline and not all(map(proc.has_ended, held)):
                time.sleep(PAUSE)
        finally:
            for pidfd in held:
                os.close(pidfd)
