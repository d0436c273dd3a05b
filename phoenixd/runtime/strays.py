"""Runs that ended with a tree proven empty: the sweep for their strays runs after the next start, once for a burst."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import anyio
import structlog

from phoenixd.core.agent import Agent
from phoenixd.core.events.aftermath import CleanedUp
from phoenixd.ports import Clock, Tell
from phoenixd.ports.processes import EndedRun, Fenced, Sweeper

GATHER = 1.0
"""Seconds after a death until the sweep: the next run is started first, and other deaths join."""
LOOK_AGAIN = 30.0
"""Seconds after which a run is tried again that still counts as alive, or for which nobody could look."""
MOST_OF_AGENT = 32
LONGEST_RUN_ID = 64

log = structlog.get_logger()


class Strays:
    """Gathers, sweeps and tells. swept: tells an agent's shim the runs that it need not remind us of any more."""

    def __init__(
        self,
        sweeper: Sweeper,
        clock: Clock,
        find: Callable[[str], Agent | None],
        tell: Tell,
        swept: Callable[[str, tuple[str, ...]], None],
    ) -> None:
        self._sweeper = sweeper
        self._clock = clock
        self._find = find
        self._tell = tell
        self._swept = swept
        self._waiting: set[EndedRun] = set()
        self._arrived = anyio.Event()
        self._resting = anyio.CancelScope()

    def hear(self, agent: str, told: object) -> None:
        """Take what a shim says of its runs; it comes again with each end and hello until it was told `swept`.

        An agent can write the record that a shim reads after another. It reaches nobody but itself: a stray bears the
        agent's name too, and is swept for only while no run of that id lives.
        """
        runs = {EndedRun(agent, *one) for one in _ended(told)}
        if runs <= self._waiting:
            return
        self._waiting |= runs
        self._arrived.set()
        self._resting.cancel()

    async def run(self) -> None:
        """Sweep for ever, each time for all runs that ended meanwhile."""
        while True:
            await self._arrived.wait()
            self._arrived = anyio.Event()
            await self._clock.sleep_until(self._clock.at() + GATHER)
            await self.sweep()
            while self._waiting and not self._arrived.is_set():
                with anyio.CancelScope() as resting:
                    self._resting = resting
                    await self._clock.sleep_until(self._clock.at() + LOOK_AGAIN)
                if not resting.cancelled_caught:
                    await self.sweep()

    async def sweep(self) -> None:
        """One pass for all that wait, but for runs that count as alive: their end is on its way, or is no true word."""
        runs = {run for run in self._waiting if not self._lives(run)}
        if not runs:
            return
        try:
            found = await self._sweeper.sweep(runs)
        except OSError as fault:
            log.warning("strays_not_looked_for", runs=len(runs), reason=str(fault))
            return
        self._waiting -= runs
        for agent in {run.agent for run in runs}:
            self._report(agent, [run for run in runs if run.agent == agent], found)

    def _report(self, agent: str, runs: list[EndedRun], found: Mapping[EndedRun, Fenced]) -> None:
        """Tell what was found, and only once that is saved the shim: a daemon that dies in between looks again."""
        quiet = tuple(run.run_id for run in runs if run not in found)
        if quiet:
            self._swept(agent, quiet)
        for run in runs:
            if run in found:
                self._tell(_event(run, found[run]), partial(self._swept, agent, (run.run_id,)))

    def _lives(self, run: EndedRun) -> bool:
        known = self._find(run.agent)
        return known is not None and known.run is not None and known.run.run_id == run.run_id


def _event(run: EndedRun, found: Fenced) -> CleanedUp:
    killed = tuple(f"{one[:120]}: started for run {run.incarnation} from outside of its tree" for one in found.killed)
    occasion = f"after run {run.incarnation}"
    return CleanedUp(run.agent, run.incarnation, occasion, killed, found.remaining, looked_at_ports=False)


def _ended(told: object) -> list[tuple[int, str]]:
    """Incarnation and run id of each; what is none of a shim's words is left out."""
    runs: list[tuple[int, str]] = []
    for one in told[:MOST_OF_AGENT] if isinstance(told, list) else []:
        said: dict[str, Any] = one if isinstance(one, dict) else {}
        incarnation, run_id = said.get("incarnation"), said.get("run_id")
        if not isinstance(incarnation, int) or isinstance(incarnation, bool) or not isinstance(run_id, str):
            continue
        if 0 < len(run_id) <= LONGEST_RUN_ID:
            runs.append((incarnation, run_id))
    return runs
