"""After each saved turn the agents' documents and watches are brought up to date, the newest facts once."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import structlog

from phoenixd.core.agent import Agent
from phoenixd.errors import PhoenixdError
from phoenixd.ports import Clock, Entry, Evidence, Launcher, StoredEntry

MAX_PENDING = 200
"""Entries of one agent that wait to be published; older ones stand in the journal all the same."""

GATHER = 0.1
"""Seconds in which changes are gathered before they are written."""

log = structlog.get_logger()


class Publisher:
    """Coalesces changes per agent and writes them one agent at a time, off the supervisor's path."""

    def __init__(self, launcher: Launcher, evidence: Evidence, clock: Clock) -> None:
        self._launcher = launcher
        self._evidence = evidence
        self._clock = clock
        self._pending: dict[str, tuple[Agent, list[Entry]]] = {}
        self._arrived = anyio.Event()
        self._followed: dict[str, str] = {}

    def hear(self, entries: Sequence[StoredEntry], changed: Sequence[Agent]) -> None:
        """Note what a turn changed; never waits."""
        for agent in changed:
            self._follow(agent)
            _, noted = self._pending.get(agent.name, (agent, []))
            noted.extend(stored.entry for stored in entries if stored.entry.agent == agent.name)
            self._pending[agent.name] = (agent, noted[-MAX_PENDING:])
        if changed:
            self._arrived.set()

    async def run(self) -> None:
        """Publish for ever."""
        while True:
            await self._arrived.wait()
            # A death brings a start within milliseconds: told together, and not while that start is under way.
            await self._clock.sleep_until(self._clock.now().at + GATHER)
            self._arrived = anyio.Event()
            while self._pending:
                name = next(iter(self._pending))
                agent, entries = self._pending.pop(name)
                try:
                    await self._launcher.publish(agent, entries)
                except (PhoenixdError, OSError) as failure:
                    log.warning("publish_failed", agent=name, reason=str(failure))

    def _follow(self, agent: Agent) -> None:
        run = agent.run
        key = f"{run.run_id} {run.session_id}" if run is not None else ""
        if self._followed.get(agent.name, "") == key:
            return
        self._followed[agent.name] = key
        if run is not None:
            self._evidence.follow(agent)
        else:
            self._evidence.forget(agent.name)
