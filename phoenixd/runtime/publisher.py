"""After each saved turn the agents' documents and watches are brought up to date, the newest facts once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio
import structlog

from phoenixd.core import alerts
from phoenixd.core.agent import Agent
from phoenixd.core.events import Event, TroubleGone, TroubleSeen
from phoenixd.errors import PhoenixdError
from phoenixd.ports import Clock, Entry, Evidence, Papers, StoredEntry

MAX_PENDING = 200
"""Entries of one agent that wait to be published; older ones stand in the journal all the same."""

GATHER = 0.1
"""Seconds in which changes are gathered before they are written."""

EVIDENCE = "evidence_seen"
"""A sign of life by files changes no document but `last_active`, which is brought up to date without any event."""

RETRY = 15.0
"""Seconds after which documents that could not be written are tried again."""

DOCUMENTS = "documents"
"""The alert that an agent's files cannot be written."""

log = structlog.get_logger()


class Publisher:
    """Coalesces changes per agent and writes them one agent at a time, off the supervisor's path."""

    def __init__(
        self, papers: Papers, evidence: Evidence, clock: Clock, tell: Callable[[Event], None] = lambda event: None
    ) -> None:
        self._papers = papers
        self._evidence = evidence
        self._clock = clock
        self._tell = tell
        self._failed: dict[str, Agent] = {}
        self._pending: dict[str, tuple[Agent, list[Entry]]] = {}
        self._waiting: dict[str, tuple[Agent, list[Entry]]] = {}
        """What goes with the agent's next news, for it is worth no writing of its own."""
        self._arrived = anyio.Event()
        self._followed: dict[str, str] = {}

    def hear(self, entries: Sequence[StoredEntry], changed: Sequence[Agent]) -> None:
        """Note what a turn changed; never waits."""
        for agent in changed:
            self._follow(agent)
            new = [stored.entry for stored in entries if stored.entry.agent == agent.name]
            is_pending = agent.name in self._pending
            _, noted = self._waiting.pop(agent.name, (agent, [])) if not is_pending else self._pending[agent.name]
            is_evidence = bool(new) and all(entry.event == EVIDENCE for entry in new)
            place = self._waiting if is_evidence and not is_pending else self._pending
            place[agent.name] = (agent, [*noted, *new][-MAX_PENDING:])
        if self._pending:
            self._arrived.set()

    async def run(self) -> None:
        """Publish for ever."""
        while True:
            await self._arrival()
            # A death brings a start within milliseconds: told together, and not while that start is under way.
            await self._clock.sleep_until(self._clock.now().at + GATHER)
            self._arrived = anyio.Event()
            while self._pending:
                name = next(iter(self._pending))
                agent, entries = self._pending.pop(name)
                await self._publish(agent, entries)

    async def _arrival(self) -> None:
        """Wait for news, or for the time to try again what could not be written (F-ST-3)."""
        with anyio.move_on_after(RETRY if self._failed else None):
            await self._arrived.wait()
            return
        for name, agent in self._failed.items():
            self._pending.setdefault(name, (agent, []))

    async def _publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        try:
            await self._papers.publish(agent, entries)
        except (PhoenixdError, OSError) as failure:
            log.warning("publish_failed", agent=agent.name, reason=str(failure))
            self._note_failure(agent, str(failure))
            return
        except Exception as fault:
            # Whatever stands in one agent's files: it costs that agent's documents, and neither daemon nor others.
            log.exception("publish_crashed", agent=agent.name)
            self._note_failure(agent, f"a fault in phoenixd: {fault!r:.300}")
            return
        if self._failed.pop(agent.name, None) is not None or alerts.find(agent.alerts, DOCUMENTS) is not None:
            self._tell(TroubleGone(agent.name, DOCUMENTS, "its files were written again"))

    def _note_failure(self, agent: Agent, why: str) -> None:
        self._failed[agent.name] = agent
        self._tell(TroubleSeen(agent.name, DOCUMENTS, why))

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
