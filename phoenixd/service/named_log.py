"""The log by the names under which people know their agents: a seat's, and not its generation's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from phoenixd.core.agent import Agent
from phoenixd.documents.log_lines import LogLine
from phoenixd.service.sources import AgentLog


@dataclass(frozen=True, slots=True)
class NamedLog:
    """Transcripts by the names under which people know their agents."""

    meant: Callable[[str], Agent | None]
    clean: Callable[[str, str], str]
    reader: AgentLog
    learnt: set[str] = field(default_factory=set)

    async def newest(self, names: Sequence[str], most: int, since: float | None, now: float) -> list[LogLine]:
        known = self._known(names)
        lines = await self.reader.newest([agent for _, agent in known.values()], most, since, now)
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
