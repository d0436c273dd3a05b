"""The log by the names under which people know their agents: a seat's, and not its generation's."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import EarlierSession, Session
from phoenixd.documents.log_lines import LogLine, Newest
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
            found, total = Newest(most, now, len(known)), 0
            for name, agent in known.values():
                told = await self._sessions(name, agent, lines, most, max(since, found.floor or since), now)
                total += len(told)
                found.add(told)
            if total > len(lines):
                lines = found.lines()
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
        self, name: str, agent: Agent, lines: Sequence[LogLine], most: int, since: float, now: float
    ) -> list[LogLine]:
        """What an agent said in all its sessions since then; `lines` has what it said in the one that it is in.

        Of a session in which nothing can be as new as what was found before, nothing is read.
        """
        newest = [line for line in lines if line.agent == agent.name]
        sessions = _sessions_since(await self.lives(name), agent.earlier, since)
        current = agent.session
        found = Newest(most, now, 1)
        found.add(newest)
        said: dict[str, list[LogLine]] = {}
        for one in sorted(sessions.values(), key=lambda one: one.until, reverse=True):
            floor = found.floor
            if floor is not None and one.until < floor:
                break
            if current is None or one.id != current.session_id:
                earlier = replace(agent, session=Session(one.id, one.began, one.began))
                said[one.id] = await self.reader.earlier(earlier, most, max(since, floor or since))
                found.add(said[one.id])
        told: list[LogLine] = []
        for one in sessions.values():
            if said.get(one.id):
                told += [_begins(agent.name, one.id, one.began), *said[one.id]]
        if current is None or not told or not newest:
            return [*told, *newest]
        at = sessions[current.session_id].began if current.session_id in sessions else current.created_wall
        return [*told, _begins(agent.name, current.session_id, at), *newest]


class _Known(NamedTuple):
    """A session, by its runs (wall). until: when the last of them ended; endless for one that lives."""

    began: float
    id: str
    until: float


def _sessions_since(lives: Sequence[KeptLife], earlier: Sequence[EarlierSession], since: float) -> dict[str, _Known]:
    """The sessions that have had a run since `since`, by name, the one that began last at the end.

    earlier: those that runs left for others; `lives` has the newest session of each run alone.
    """
    known: dict[str, _Known] = {}

    def put(session_id: str, began: float, until: float) -> None:
        before = known.get(session_id, _Known(began, session_id, until))
        known[session_id] = _Known(min(before.began, began), session_id, max(before.until, until))

    left: dict[int, float] = {}
    for one in earlier:
        put(one.session_id, one.began_wall, one.until_wall)
        left[one.incarnation] = max(left.get(one.incarnation, 0.0), one.until_wall)
    for life in lives:
        if life.session_id is not None and life.started is not None:
            began = max(life.started, left.get(life.incarnation, 0.0))
            put(life.session_id, began, math.inf if life.ended is None else life.ended)
    found = sorted(one for one in known.values() if one.until >= since)
    return {one.id: one for one in found[-MOST_SESSIONS:]}


def _begins(agent: str, session_id: str, at: float) -> LogLine:
    return LogLine(agent, "session", f"session {session_id} begins", at)
