"""The desks of all agents, one for each, and of each agent or seat what is secret."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from phoenixd.config.tables import ConfigurationTable
from phoenixd.core.agent import Agent
from phoenixd.core.seat.names import seat_name
from phoenixd.directories import Directories
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.memory.desk import Desk
from phoenixd.memory.files import Files
from phoenixd.memory.known_secrets import KnownSecrets
from phoenixd.ports import Clock

CLEARED_AFTER = 60.0
"""Seconds after which nobody can be at the desk of an agent that was removed."""


class Desks:
    """Desks by name; a writer holds the desk's lock."""

    def __init__(self, directories: Directories, settings: ConfigurationTable, clock: Clock, files: Files) -> None:
        self._directories = directories
        self._settings = settings
        self._clock = clock
        self._files = files
        self._desks: dict[str, Desk] = {}
        self._known: dict[str, KnownSecrets] = {}
        """By agent, or by seat."""
        self._learnt: set[str] = set()
        """Agents whose secrets were asked for since this daemon began."""
        self._of_all: tuple[tuple[tuple[str, ...], ...], tuple[str, ...]] = (), ()
        self._leaving: dict[str, float] = {}
        """Agents that were removed, and since when (supervised)."""
        self.secrets_of: Callable[[Agent], tuple[str, ...]] = lambda agent: ()
        self.session_of: Callable[[Agent], SessionFacts | None] = lambda agent: None
        self.is_there: Callable[[str], bool] = lambda name: True
        """Whether there is an agent, or a seat, of this name."""
        self.left: Callable[[str], None] = lambda name: None
        """Told of each agent that is there no more, once nobody writes of it."""
        self.holds: Callable[[Agent], bool] = lambda agent: True
        """Whether an agent writes the papers that it is about: a generation that does not hold its seat writes none."""
        self.front_of: Callable[[Agent], str] = lambda agent: ""
        self.crew_of: Callable[[Agent, float], tuple[str, ...]] = lambda agent, now: ()
        self.codes_of: Callable[[Agent], frozenset[str]] = lambda agent: frozenset()
        """What is told of an agent's marker and of its crew, and which codes no page may hold; see memory.resonance."""

    def desk(self, name: str) -> Desk:
        """The desk of an agent without a seat, or of a seat, by its name."""
        return self._desk(name, name)

    def at(self, name: str) -> Desk | None:
        """The desk of this name, if anybody was at it."""
        return self._desks.get(name)

    def each(self) -> tuple[Desk, ...]:
        return tuple(self._desks.values())

    def known(self, name: str) -> KnownSecrets:
        """What is secret of an agent, and of all others of its seat."""
        return self._known.setdefault(seat_name(name), KnownSecrets())

    def known_of_all(self) -> tuple[str, ...]:
        """What is secret of anybody, the longest first."""
        each = tuple(known.values for known in tuple(self._known.values()))
        if each != self._of_all[0]:
            found = {value for values in each for value in values}
            self._of_all = each, tuple(sorted(found, key=lambda value: (-len(value), value)))
        return self._of_all[1]

    def learn(self, agent: Agent, values: Iterable[str] | None = None) -> None:
        """Have known what is secret of an agent: of the environment that a run gets, or as far as that can be told now.

        Reads credential files where they were not read yet.
        """
        known = self.known(agent.name)
        if values is not None or agent.name not in self._learnt or not known.values:
            known.take(values if values is not None else self.secrets_of(agent))
            self._learnt.add(agent.name)

    def forget_removed(self, names: Iterable[str]) -> None:
        """These agents are there no more: their desks are cleared once nobody can be at them."""
        at = self._clock.now().at
        for name in names:
            self._leaving[name] = at

    def clear(self) -> tuple[str, ...]:
        """Clear the desks of agents that were removed long enough ago, unless somebody is at them; whose they were."""
        cleared = []
        before = self._clock.now().at - CLEARED_AFTER
        for name in [name for name, at in self._leaving.items() if at <= before]:
            if self.is_there(name):
                del self._leaving[name]
                continue
            seat = seat_name(name)
            is_over = not self.is_there(seat)
            keys = dict.fromkeys((name, *((seat, f"{seat}-g1") if is_over else ())))
            left = [key for key in keys if key in self._desks and not self.is_there(key)]
            if any(self._desks[key].lock.statistics().locked for key in left):
                # Somebody is at it: desk and secrets go together, next time.
                continue
            del self._leaving[name]
            self.left(name)
            cleared.append(name)
            self._learnt.discard(name)
            if is_over:
                self._known.pop(seat, None)
            for key in left:
                del self._desks[key]
        return tuple(cleared)

    def desk_of(self, agent: Agent) -> Desk:
        """The desk at which an agent's files are written: of a seat's holder that of the seat, with its own run files.

        A generation that does not hold its seat has one of its own, for the files of its runs.
        """
        seat, generation = agent.spec.seat, agent.spec.generation
        if generation <= 1 and self.holds(agent):
            return self.desk(agent.name)
        if not self.holds(agent):
            return self.desk(agent.name) if generation > 1 else self._desk(f"{seat}-g1", agent.name)
        desk = self.desk(seat)
        desk.shelf.own = self._directories.agent_state(agent.name)
        return desk

    def _desk(self, key: str, name: str) -> Desk:
        if key not in self._desks:
            directory = self._directories.agent_state(name)
            known = self.known(name)
            desk = self._desks[key] = Desk.of(name, directory, self._files, self._settings, known)
            desk.session_of = lambda agent: self.session_of(agent)
            desk.front_of = lambda agent: self.front_of(agent)
            desk.crew_of = lambda agent, now: self.crew_of(agent, now)
            desk.codes_of = lambda agent: self.codes_of(agent)
        return self._desks[key]
