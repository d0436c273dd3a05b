"""The agents of a fleet by name, in the order in which they were declared, and marks of what the fleet asks of all.

Taking one agent in costs the same however many there are: the agents lie in blocks, one is copied, and of the marks
only the agent's own change. A roster is a value: what was put into a newer one is not in an older one. The marks
are a function of the agents and their places; `marks.of` says which, and a test compares them with all made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, ValuesView
from typing import Any

from phoenixd.core.agent import Agent
from phoenixd.core.ranked import Bound, Mark, Ranked
from phoenixd.core.spec import AgentSpec

(
    DUE, START, SPAWN, LAUNCH, WANTED,
    MEMBER, LIMIT, ASKED, FREE, SLOT, OWN_SLOT,
    GROUP, OUTAGE, TURN, CALM,
    PASSING, RESTORING,
) = range(17)  # fmt: skip
"""What marks say: those of the first line are told in marks.py, of the others in accounts, outage, sequence and
resonance.restoring."""

Marks = tuple[Mark, ...]
BLOCK = 32
Cell = tuple[Agent, Marks, Marks]
"""An agent, the marks of its specification, and those of what it is now."""


class Marker:
    """Which marks there are of an agent at a place: by its specification, and by what it is now."""

    __slots__ = ("declared", "now")

    def __init__(self, declared: Callable[[AgentSpec, int], Marks], now: Callable[[Agent, int], Marks]) -> None:
        self.declared = declared
        self.now = now


class Roster(Mapping[str, Agent]):
    """Agents by name, with their marks."""

    __slots__ = ("_blocks", "_end", "_marker", "_places", "marks")

    def __init__(
        self,
        marker: Marker,
        places: dict[str, int],
        blocks: tuple[tuple[Cell | None, ...], ...],
        marks: Ranked,
        end: int,
    ) -> None:
        self._marker = marker
        self._places = places
        self._blocks = blocks
        self._end = end
        self.marks = marks

    @classmethod
    def of(cls, marker: Marker, agents: Iterable[Agent]) -> Roster:
        """A roster of these, with all marks made anew."""
        cells = [_cell(marker, agent, place, None) for place, agent in enumerate(agents)]
        places = {cell[0].name: place for place, cell in enumerate(cells)}
        blocks = tuple(tuple(cells[at : at + BLOCK]) for at in range(0, len(cells), BLOCK))
        marks = Ranked.of(mark for _, declared, now in cells for mark in (*declared, *now))
        return cls(marker, places, blocks, marks, len(cells))

    def __getitem__(self, name: str) -> Agent:
        place = self._places[name]
        cell = self._blocks[place // BLOCK][place % BLOCK]
        assert cell is not None
        return cell[0]

    def get(self, name: str, default: Any = None) -> Any:
        place = self._places.get(name)
        if place is None:
            return default
        cell = self._blocks[place // BLOCK][place % BLOCK]
        assert cell is not None
        return cell[0]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return repr(dict(self))

    def values(self) -> ValuesView[Agent]:
        return _Agents(self)

    def agents(self) -> Iterator[Agent]:
        """All of them, in their order."""
        for block in self._blocks:
            for cell in block:
                if cell is not None:
                    yield cell[0]

    def living(self, name: str, incarnation: int) -> Agent | None:
        """The agent of this name, if that run of its lives."""
        agent: Agent | None = self.get(name)
        run = agent.run if agent is not None else None
        return agent if run is not None and run.incarnation == incarnation else None

    def has(self, what: int) -> bool:
        """Whether any agent bears such a mark."""
        return self.marks.first((what,), (what + 1,)) is not None

    def place(self, name: str) -> int:
        """Where an agent stands: an agent that was declared earlier stands before it."""
        return self._places[name]

    def named(self, marks: Iterable[Mark]) -> list[Agent]:
        """The agents that these marks are of, each once, in the order of the fleet."""
        names = {mark[4] for mark in marks}
        return [self[name] for name in sorted(names, key=self._places.__getitem__)]

    def marked(self, low: Bound, high: Bound) -> list[Agent]:
        """The agents with a mark in between, in the order of the fleet."""
        return self.named(self.marks.between(low, high))

    def taking(self, agent: Agent) -> Roster:
        """With this agent in the place of the one of its name, or behind all."""
        place = self._places.get(agent.name)
        if place is None:
            return self._joined(agent)
        row = place // BLOCK
        block = self._blocks[row]
        known = block[place % BLOCK]
        cell = _cell(self._marker, agent, place, known)
        changed = (*block[: place % BLOCK], cell, *block[place % BLOCK + 1 :])
        blocks = (*self._blocks[:row], changed, *self._blocks[row + 1 :])
        return Roster(self._marker, self._places, blocks, self._remarked(known, cell), self._end)

    def without(self, name: str) -> Roster:
        """Without the agent of this name, where there is one: an old journal may not know the agent that is removed."""
        place = self._places.get(name)
        if place is None:
            return self
        if self._end > 2 * BLOCK + 2 * len(self):
            # Most places are empty by now: all move up.
            return Roster.of(self._marker, [agent for agent in self.agents() if agent.name != name])
        places = {other: at for other, at in self._places.items() if other != name}
        row = place // BLOCK
        block = self._blocks[row]
        left = (*block[: place % BLOCK], None, *block[place % BLOCK + 1 :])
        blocks = (*self._blocks[:row], left, *self._blocks[row + 1 :])
        return Roster(self._marker, places, blocks, self._remarked(block[place % BLOCK], None), self._end)

    def _joined(self, agent: Agent) -> Roster:
        place = self._end
        cell = _cell(self._marker, agent, place, None)
        blocks = self._blocks
        if place % BLOCK:
            blocks = (*blocks[:-1], (*blocks[-1], cell))
        else:
            blocks = (*blocks, (cell,))
        places = {**self._places, agent.name: place}
        return Roster(self._marker, places, blocks, self._remarked(None, cell), place + 1)

    def _remarked(self, before: Cell | None, after: Cell | None) -> Ranked:
        old = () if before is None else before[2] if after and before[1] is after[1] else before[1] + before[2]
        new = () if after is None else after[2] if before and before[1] is after[1] else after[1] + after[2]
        if old == new:
            return self.marks
        return self.marks.changed([one for one in old if one not in new], [one for one in new if one not in old])


class _Agents(ValuesView[Agent]):
    """What Roster.values() returns: without a look-up for each."""

    def __iter__(self) -> Iterator[Agent]:
        roster: Any = self._mapping  # type: ignore[attr-defined]
        return iter(roster.agents())


def _cell(marker: Marker, agent: Agent, place: int, known: Cell | None) -> Cell:
    same = known is not None and known[0].spec is agent.spec
    declared = known[1] if same and known is not None else marker.declared(agent.spec, place)
    return agent, declared, marker.now(agent, place)
