"""Ends of the terminal server within a stretch of the journal: which agents fell with each, and which are back. Pure.

A shim tells that its terminal was lost, and the daemon that the server has ended; either may come first. A run that
fell with the server is no death of its agent.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from phoenixd.core.facts import RunBegan, RunEnded, RunProductive
from phoenixd.core.rules import RestartRules
from phoenixd.core.terminal.state import LATEST
from phoenixd.ports.journal import Entry

MOST = 100
"""How many ends are kept: the newest."""
WITH_IT = frozenset({"death", "limit", "recycled", "attempt"})
"""What an end is whose run fell with the server; an end that somebody asked for is none of these."""
PROVED = RestartRules().productive
"""Seconds after which a run that dies has been back all the same."""


@dataclass(slots=True)
class TerminalEnd:
    """fell: the agents whose runs ended with it, and which runs. back: when (wall) a run began that is there since.

    began: who had a run ordered since: what ends those is not this end. productive: of those that fell who was
    productive since; another death does not change that they were back.
    """

    at: float
    fell: dict[str, int] = field(default_factory=dict)
    back: dict[str, float] = field(default_factory=dict)
    began: set[str] = field(default_factory=set)
    productive: set[str] = field(default_factory=set)

    @property
    def missing(self) -> list[str]:
        """The agents that are not back."""
        return sorted(self.fell.keys() - self.back.keys())


@dataclass(slots=True)
class TerminalEnds:
    """Rows are fed in order by the digest."""

    known: list[TerminalEnd] = field(default_factory=list)
    _lost: dict[str, tuple[int, float]] = field(default_factory=dict)
    """Agents that wait since they have lost their terminal, each with the run that ended, and when."""

    @property
    def told(self) -> list[TerminalEnd]:
        """Those with which an agent fell."""
        return [one for one in self.known if one.fell]

    @property
    def runs(self) -> frozenset[tuple[str, int]]:
        """Every run that fell, with its agent."""
        return frozenset(run for one in self.known for run in one.fell.items())

    def begin(self, wall: float) -> dict[str, int]:
        """The server has ended. Return the runs that had told before that their terminal was lost, by agent."""
        fell = {name: run for name, (run, at) in self._lost.items() if wall - at < LATEST}
        self._lost.clear()
        self.known.append(TerminalEnd(wall, fell))
        del self.known[:-MOST]
        return dict(fell)

    def takes(self, agent: str, end: RunEnded, wall: float) -> bool:
        """Whether a run that ended fell with the server."""
        if end.cause != "terminal_lost" or end.meaning not in WITH_IT:
            self._falls_again(agent, end)
            return False
        newest = self.known[-1] if self.known else None
        if newest is None or wall - newest.at >= LATEST or agent in newest.began:
            self._falls_again(agent, end)
            self._lost[agent] = (end.incarnation, wall)
            return False
        newest.fell[agent] = end.incarnation
        return True

    def hear(self, agent: str, entry: Entry, event: str) -> None:
        """Take in a row of an agent. event: its name, without case and punctuation."""
        if event == "agentstarted":
            self._lost.pop(agent, None)
            for one in self.known:
                if entry.incarnation > one.fell.get(agent, entry.incarnation):
                    one.back.setdefault(agent, entry.wall)
        for fact in entry.facts:
            if isinstance(fact, RunBegan) and self.known:
                self.known[-1].began.add(agent)
            elif isinstance(fact, RunProductive):
                for one in self.known:
                    if fact.incarnation > one.fell.get(agent, fact.incarnation):
                        one.productive.add(agent)

    def _falls_again(self, agent: str, end: RunEnded) -> None:
        """A run that dies early does not count as back, unless one before it was productive."""
        if end.meaning != "death" or end.lived >= PROVED:
            return
        for one in self.known:
            if agent not in one.productive:
                one.back.pop(agent, None)
