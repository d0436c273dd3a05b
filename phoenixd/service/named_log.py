"""The log by the names under which people know their agents: a seat's, and not its generation's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Session
from phoenixd.documents.log_lines import LogLine, merged
from phoenixd.ports.journal import KeptLife
from phoenixd.service.sources import AgentLog

MOST_SESSIONS = 50
"""Sessions of one agent beside the one that it is in, the newest, in which is looked for what was said."""


@dataclass(frozen=True, slots=True)
class NamedLog:
    """Transcripts by the names under which people know their agents. lives: the newest runs of a name, in any order."""

    meant: Callable[[str], Agent | None]
    clean: Callable[[str, str], str]
    reader: AgentLog
    lives: Callable[[str], Awaitable[Sequence[KeptLife]]]
    learnt: set[str] = field(default_factory=set)

    async def newest(self, names: Sequence[str], most: int, since: float | None, now: float) -> list[LogLine]:
        """The newest lines; of a stretch those of all sessions within it, each behind a line that names it."""
        known = self._known(names)
        lines = await self.reader.newest([agent for _, agent in known.values()], most, since, now)
        if since is not None:
            by_agent = [await self._sessions(name, agent, lines, most, since) for name, agent in known.values()]
            if sum(map(len, by_agent)) > len(lines):
                lines = merged([line for told in by_agent for line in told], most, now)
        return [replace(line, agent=known[line.agent][0]) for line in lines]

    async def added(self, names: Sequence[str], since: float, most: int) -> tuple[list[LogLine], bool]:
        known = self._known(names)
        lines, is_more = await self.reader.added([agent for _, agent in known.values()], since, most)
        return [replace(line, agent=known[line.agent][0]) for line in lines], is_more

    def resume(self, places: Mapping[str, str]) -> None:
        self.reader.resume(places)

    def places(self) -> dict[str, str]:
        return self.reader.places()

    def _known(self, names: Sequence[str]) -> dict[str, tuple[str, Agent]]:
        """By the agents' own names: how people call them, and they themselves."""
        found = {agent.name: (name, agent) for name in names if (agent := self.meant(name)) is not None}
        for name in found.keys() - self.learnt:
            self.clean(name, "")  # What is secret of an agent is learnt here, and not in the reader's thread.
            self.learnt.add(name)
        return found

    async def _sessions(
        self, name: str, agent: Agent, lines: Sequence[LogLine], most: int, since: float
    ) -> list[LogLine]:
        """What an agent said in all its sessions since then; `lines` has what it said in the one that it is in."""
        newest = [line for line in lines if line.agent == agent.name]
        began = _beginnings(await self.lives(name), since)
        current = agent.session
        told: list[LogLine] = []
        for session_id, at in began.items():
            if current is None or session_id != current.session_id:
                earlier = replace(agent, session=Session(session_id, at, at))
                said = await self.reader.earlier(earlier, most, since)
                told += [_begins(agent.name, session_id, at), *said] if said else ()
        if current is None or not told or not newest:
            return [*told, *newest]
        at = began.get(current.session_id, current.created_wall)
        return [*told, _begins(agent.name, current.session_id, at), *newest]


def _beginnings(lives: Sequence[KeptLife], since: float) -> dict[str, float]:
    """When each session began (wall) that has had a run since `since`, by name, the newest last."""
    began: dict[str, float] = {}
    within = set[str]()
    for life in lives:
        if life.session_id is not None and life.started is not None:
            began[life.session_id] = min(life.started, began.get(life.session_id, life.started))
            if life.ended is None or life.ended >= since:
                within.add(life.session_id)
    found = sorted((at, session_id) for session_id, at in began.items() if session_id in within)
    return {session_id: at for at, session_id in found[-MOST_SESSIONS:]}


def _begins(agent: str, session_id: str, at: float) -> LogLine:
    return LogLine(agent, "session", f"session {session_id} begins", at)
