"""After each saved turn the agents' documents and watches are brought up to date, the newest facts once."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence

import anyio
import structlog
from anyio.abc import TaskGroup

from phoenixd.core import alerts
from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen
from phoenixd.errors import PhoenixdError
from phoenixd.ports import Clock
from phoenixd.ports.evidence import Evidence
from phoenixd.ports.journal import Entry, StoredEntry
from phoenixd.ports.papers import Papers

MAX_PENDING = 200
"""Entries of one agent that wait to be published; older ones stand in the journal all the same."""

GATHER, GATHER_MOST = 0.1, 0.5
"""Seconds without news before changes are written, and those after which they are written in any case: a run's session
waits 2 s for its brief."""

AT_ONCE = 4
"""Agents whose documents are written at once: writing waits for the disk, and now and then for git."""

ADOPTED, SLOW = "run_adopted", 1.0
"""Of agents that were taken over one is written at a time: a daemon that begins has a thousand, and threads that take
the interpreter from each other cost much. Once one takes SLOW seconds, there are as many as ever."""

BURST, RATE = 100, 20.0
"""Writings that may come at once, and each second from then on: in a flood of hooks all agents' documents change all
the time, and writing them takes processors and disk from what decides. A run that begins or ends does not wait."""

EVIDENCE = "evidence_seen"
"""A sign of life by files changes no document but `last_active`, which is brought up to date without any event."""

WRITTEN_WITHIN = 5.0
"""Seconds that a reader waits for an agent's documents to be written as they are to be."""

RETRY = 15.0
"""Seconds after which documents that could not be written are tried again."""

DOCUMENTS = "documents"
"""The alert that an agent's files cannot be written."""

log = structlog.get_logger()


class Publisher:
    """Coalesces changes per agent and writes them, off the supervisor's path, a few agents at a time: a run that boots
    waits for its brief, and not for another agent's disk or repository."""

    def __init__(
        self, papers: Papers, evidence: Evidence, clock: Clock, tell: Callable[[Event], None] = lambda event: None
    ) -> None:
        self._papers = papers
        self._evidence = evidence
        self._clock = clock
        self._tell = tell
        self._failed: dict[str, Agent] = {}
        self._retry_at = 0.0
        self._pending: dict[str, tuple[Agent, list[Entry]]] = {}
        self._waiting: dict[str, tuple[Agent, list[Entry]]] = {}
        """What goes with the agent's next news, for it is worth no writing of its own."""
        self._under_way: set[str] = set()
        self._is_begun = False
        self._urgent: set[str] = set()
        """Those whose run began or ended since they were written last."""
        self._noted: set[str] = set()
        """Until `hear_rest`: those that are written, or were."""
        self._tokens, self._counted_at = float(BURST), clock.now().at
        self._places = anyio.CapacityLimiter(AT_ONCE)
        self._adopting = anyio.CapacityLimiter(1)
        self._arrived = anyio.Event()
        self._written = anyio.Event()
        """Set, and made anew, after each writing."""
        self._followed: dict[str, str] = {}
        self._may_begin = anyio.Event()
        self._may_begin.set()

    def hear(self, entries: Sequence[StoredEntry], changed: Sequence[Agent]) -> None:
        """Note what a turn changed; never waits."""
        told: dict[str | None, list[Entry]] = {}
        for stored in entries:
            told.setdefault(stored.entry.agent, []).append(stored.entry)
        for agent in changed:
            self._follow(agent)
            new = told.get(agent.name, [])
            is_pending = agent.name in self._pending
            _, noted = self._waiting.pop(agent.name, (agent, [])) if not is_pending else self._pending[agent.name]
            is_evidence = bool(new) and all(entry.event == EVIDENCE for entry in new)
            place = self._waiting if is_evidence and not is_pending else self._pending
            place[agent.name] = (agent, [*noted, *new][-MAX_PENDING:])
        if self._pending:
            self._arrived.set()
        if not self._is_begun:
            self._noted.update(self._pending)

    def forget_removed(self, names: Iterable[str]) -> None:
        """These agents were removed: whatever ran of them is followed no more, and nothing of them is tried again."""
        for name in names:
            for known in (self._followed, self._waiting, self._failed):
                known.pop(name, None)

    def hear_rest(self, agents: Iterable[Agent]) -> None:
        """A daemon has begun: write also, once, the documents of agents that nothing happened to meanwhile."""
        self.hear((), [agent for agent in agents if agent.name not in self._noted])
        self._is_begun = True
        self._noted.clear()

    async def catch_up(self, name: str) -> None:
        """Have written at once what an agent's documents lack, and return when that was tried, or after a while."""
        with anyio.move_on_after(WRITTEN_WITHIN):
            while name in self._pending or name in self._under_way:
                if name in self._pending:
                    self._urgent.add(name)
                    self._arrived.set()
                await self._written.wait()

    def pause(self, paused: bool) -> None:
        """Begin with no documents for a moment, or go on; those of runs that begin or end are written at once."""
        if not paused:
            self._may_begin.set()
        elif self._may_begin.is_set():
            self._may_begin = anyio.Event()

    async def run(self) -> None:
        """Publish for ever."""
        async with anyio.create_task_group() as tasks:
            await self._follow_arrivals(tasks)

    async def _follow_arrivals(self, tasks: TaskGroup) -> None:
        while True:
            await self._arrival()
            await self._gather()
            for name in [name for name in self._pending if name not in self._under_way]:
                if self._may_write(name):
                    self._under_way.add(name)
                    tasks.start_soon(self._publish_newest, name)

    async def _gather(self) -> None:
        """Return once nothing new comes for a moment: a death brings a start, and in a burst many are under way."""
        most = self._clock.now().at + GATHER_MOST
        while self._arrived.is_set() and (now := self._clock.now().at) < most:
            self._arrived = anyio.Event()
            await self._clock.sleep_until(min(now + GATHER, most))
        self._arrived = anyio.Event()

    async def _publish_newest(self, name: str) -> None:
        """Publish an agent once some place is free. What changed meanwhile waits behind the others, unless a run began
        or ended: an agent that has news all the time would keep its place, and a few of them all places."""
        try:
            if name not in self._urgent:
                await self._may_begin.wait()
            _, entries = self._pending.get(name, (None, []))
            if any(entry.event != ADOPTED for entry in entries):
                await self._publish_in_place(name)
                return
            async with self._adopting:
                late = asyncio.get_running_loop().call_later(SLOW, self._adopt_more)
                try:
                    await self._publish_in_place(name)
                finally:
                    late.cancel()
        finally:
            self._under_way.discard(name)
            self._written.set()
            self._written = anyio.Event()
            if name in self._pending:
                self._arrived.set()

    async def _publish_in_place(self, name: str) -> None:
        async with self._places:
            is_allowed = True
            while name in self._pending and (is_allowed or name in self._urgent):
                is_allowed = False
                self._urgent.discard(name)
                await self._publish(*self._pending.pop(name))

    def _adopt_more(self) -> None:
        """One agent's disk is slow: it holds up none of the others."""
        self._adopting.total_tokens = AT_ONCE

    def _may_write(self, name: str) -> bool:
        """Whether this agent's documents are written now; else they wait, and the next writing has all of it."""
        now = self._clock.now().at
        self._tokens = min(float(BURST), self._tokens + (now - self._counted_at) * RATE)
        self._counted_at = now
        if name in self._urgent:
            return True
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    async def _arrival(self) -> None:
        """Wait for news, for the turn of what waits, or for the time to try again what could not be written (F-ST-3),
        however much is new."""
        patience = max(0.0, self._retry_at - anyio.current_time()) if self._failed else math.inf
        if self._pending.keys() - self._under_way:
            patience = min(patience, GATHER_MOST)
        with anyio.move_on_after(patience):
            await self._arrived.wait()
        if self._failed and anyio.current_time() >= self._retry_at:
            self._retry_at = anyio.current_time() + RETRY
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
        if not self._failed:
            self._retry_at = anyio.current_time() + RETRY
            self._arrived.set()
        self._failed[agent.name] = agent
        self._tell(TroubleSeen(agent.name, DOCUMENTS, why))

    def _follow(self, agent: Agent) -> None:
        run = agent.run
        key = f"{run.run_id} {run.session_id}" if run is not None else ""
        if self._followed.get(agent.name, "") == key:
            return
        self._followed[agent.name] = key
        self._urgent.add(agent.name)
        if run is not None:
            self._evidence.follow(agent)
        else:
            self._evidence.forget(agent.name)
