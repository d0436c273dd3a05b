"""How full contexts are, read soon after something was heard of an agent, and never else: an idle agent wakes nobody.

A hook says that something was written; the transcript says what. While an agent works it is looked at once a second,
and the last time a second after its last hook.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol

from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import EvidenceSeen, UsageSeen
from phoenixd.documents.status_line import StatusLine
from phoenixd.documents.transcript import Used
from phoenixd.gathered import Gathered
from phoenixd.ports import Clock
from phoenixd.ports.evidence import Transcripts
from phoenixd.side_by_side import SideBySide

Noted = Callable[[Agent, StatusLine | None, Used | None], None]


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
        """noted: called at each look's end with what was read; it never waits."""
        self._find = find
        self._tell = tell
        self._transcripts = transcripts
        self._status = status
        self._agents = agents
        self._noted = noted
        self._heard_of = Gathered(clock)
        self._looks = SideBySide("a look at its context", self.look)
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
        self._heard_of.note(agent)

    async def run(self) -> None:
        """Look for ever, first at all that live."""
        for agent in self._agents():
            if agent.run is not None:
                self.note(agent.name)
        await self._heard_of.look(self._looks, lambda every, due: sorted(every))

    async def look_now(self, name: str) -> None:
        """Look at this agent at once, as before it hands out a task (E17). Where its files hang, it stays as it is."""
        await self._looks.see(name)

    async def look(self, name: str) -> None:
        """Read what one agent's transcript and status line say now."""
        agent = self._find(name)
        if agent is None or agent.run is None or agent.session is None:
            self._told.pop(name, None)
            return
        incarnation, session_id = agent.run.incarnation, agent.session.session_id
        line, used = await self._looks.aside(partial(self._read, agent, incarnation))
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
            self._noted(agent, line, used)

    def _read(self, agent: Agent, incarnation: int) -> tuple[StatusLine | None, Used | None]:
        return self._status.read(agent.name, incarnation), self._transcripts.usage_now(agent)
