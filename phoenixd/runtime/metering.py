"""How full contexts are, read soon after something was heard of an agent, and never else: an idle agent wakes nobody.

A hook says that something was written; the transcript says what. While an agent works it is looked at once a second,
and the last time a second after its last hook.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol

import anyio
import structlog
from anyio import to_thread
from anyio.abc import TaskGroup

from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import EvidenceSeen, UsageSeen
from phoenixd.core.moment import Instant
from phoenixd.documents.status_line import StatusLine
from phoenixd.documents.transcript import Used
from phoenixd.ports import Clock
from phoenixd.ports.evidence import Transcripts

GATHER = 1.0
"""Seconds between what was heard and the look: CLIs write their transcripts a moment after their hooks."""

PATIENCE = 10.0
"""Seconds that one round of looks is waited for, where a disk does not answer."""
MOST_NAMED = 5

AT_ONCE = 4
"""Agents that are looked at together: one whose disk is slow holds up none of the others."""

Noted = Callable[[Agent, StatusLine | None, Used | None], Awaitable[None]]

log = structlog.get_logger()


class StatusFiles(Protocol):
    """What status lines were given."""

    def read(self, agent: str, incarnation: int) -> StatusLine | None: ...


class Metering:
    """Reads and tells; what it means is the core's to say."""

    def __init__(
        self,
        find: Callable[[str], Agent | None],
        tell: Callable[[Event], None],
        clock: Clock,
        transcripts: Transcripts,
        status: StatusFiles,
        agents: Callable[[], Iterable[Agent]] = tuple,
        noted: Noted | None = None,
    ) -> None:
        """noted: called at each look's end with what was read."""
        self._find = find
        self._tell = tell
        self._clock = clock
        self._transcripts = transcripts
        self._status = status
        self._agents = agents
        self._noted = noted
        self._waiting: dict[str, Instant] = {}
        """Agents that are to be looked at, and when they were heard of last."""
        self._arrived = anyio.Event()
        self._under_way: set[str] = set()
        self._again: set[str] = set()
        """Agents that are looked at, and those of them that were heard of meanwhile."""
        # One for each agent that hangs, and none of those that others of the daemon need.
        self._threads = anyio.CapacityLimiter(math.inf)
        self._told: dict[str, tuple[int, StatusLine]] = {}
        """The newest of each agent's newest run; what did not change is not told again."""

    def heard(self, agent: str, kind: str, payload: dict[str, Any]) -> None:
        """A hook came. A subagent's context is its own."""
        if not payload.get("agent_id"):
            self.note(agent)

    def seen(self, event: EvidenceSeen) -> None:
        """The transcript of an agent grew whose hooks may not arrive."""
        if event.source == "transcript":
            self.note(event.agent)

    def note(self, agent: str) -> None:
        """Look at this agent soon."""
        self._waiting[agent] = self._clock.at()
        self._arrived.set()

    async def run(self) -> None:
        """Look for ever, first at all that live."""
        for agent in self._agents():
            if agent.run is not None:
                self.note(agent.name)
        async with anyio.create_task_group() as tasks:
            while True:
                await self._arrived.wait()
                await self._clock.sleep_until(self._clock.at() + GATHER)
                names, began, self._arrived = tuple(self._waiting), self._clock.at(), anyio.Event()
                # What was heard of a moment ago may not be written yet: that agent is looked at once more.
                self._waiting = {name: heard for name, heard in self._waiting.items() if heard > began - GATHER}
                if self._waiting:
                    self._arrived.set()
                await self._look_at(names, tasks)

    async def _look_at(self, names: Iterable[str], tasks: TaskGroup) -> None:
        """Look at these. One whose files do not answer is looked at no more until they do, and the others go on."""
        self._again |= self._under_way.intersection(names)
        left, is_over, places = set(names) - self._under_way, anyio.Event(), anyio.CapacityLimiter(AT_ONCE)

        async def look(name: str) -> None:
            async with places:
                await self.look_now(name)
            self._under_way.discard(name)
            if name in self._again:
                self._again.discard(name)
                self.note(name)
            left.discard(name)
            if not left:
                is_over.set()

        if not left:
            return
        self._under_way |= left
        for name in sorted(left):
            tasks.start_soon(look, name)
        with anyio.move_on_after(PATIENCE):
            await is_over.wait()
            return
        log.warning("files_do_not_answer", agents=sorted(left)[:MOST_NAMED])
        # Behind those that hang others may wait for a place.
        places.total_tokens = math.inf

    async def look_now(self, name: str) -> None:
        """Look at this agent without waiting, as before it hands out a task (E17)."""
        try:
            await self.look(name)
        except Exception:
            # An agent's files may be anything: a fault in reading them costs this look at this agent.
            log.exception("metering_fault", agent=name)

    async def look(self, name: str) -> None:
        """Read what one agent's transcript and status line say now."""
        agent = self._find(name)
        if agent is None or agent.run is None or agent.session is None:
            self._told.pop(name, None)
            return
        incarnation, session_id = agent.run.incarnation, agent.session.session_id
        line, used = await to_thread.run_sync(self._read, agent, incarnation, limiter=self._threads)
        if line is not None and self._told.get(name) != (incarnation, line):
            self._told[name] = incarnation, line
            of_session = line.session_id or session_id
            self._tell(
                UsageSeen(
                    name, incarnation, None, line.window, "status line", None, of_session, line.model, line.problem
                )
            )
        if used is not None:
            self._tell(UsageSeen(name, incarnation, used.tokens, used.window, "transcript", used.at, session_id))
        elif agent.meter.tokens is not None:
            self._tell(UsageSeen(name, incarnation, None, None, "transcript", None, session_id))
        if self._noted is not None:
            await self._noted(agent, line, used)

    def _read(self, agent: Agent, incarnation: int) -> tuple[StatusLine | None, Used | None]:
        return self._status.read(agent.name, incarnation), self._transcripts.usage_now(agent)
