"""Has the transcript of an open turn looked at when it is written, where nothing else tells that the API refused it.

Such a CLI stays at its input line, and no hook tells that its turn is over: a look at its screen finds that after
`liveness.check_interval`. Its transcript says it at once, and the kernel says when that is written. Only runs at an
open turn are watched, and of those only such whose CLI tells it nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import anyio

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.moment import Instant
from phoenixd.gathered import GATHER, Gathered
from phoenixd.harness.failed_turn import is_told_by_transcript_alone
from phoenixd.ports import Clock
from phoenixd.ports.evidence import Writes
from phoenixd.side_by_side import SideBySide

LATE = 30.0
"""Seconds from a turn's begin for which its transcript is looked for: a busy CLI begins a fresh one late."""


class Refused(Protocol):
    """Who looks whether the API refused the turn, and tells it."""

    async def look(self, agent: Agent) -> None: ...


class Files(Protocol):
    """Where transcripts are."""

    async def file(self, agent: Agent) -> str | None:
        """The path of the agent's transcript; None where there is none yet, or its disk does not answer."""
        ...


class TurnWatch:
    """Follows who is at a turn. writes: nobody else's."""

    def __init__(
        self,
        find: Callable[[str], Agent | None],
        files: Files,
        writes: Writes,
        refused: Refused,
        clock: Clock,
        agents: Callable[[], Iterable[Agent]] = tuple,
    ) -> None:
        self._find, self._files, self._writes, self._refused = find, files, writes, refused
        self._clock, self._agents = clock, agents
        self._working: dict[str, tuple[int, Instant]] = {}
        """The runs at an open turn, by agent, and since when."""
        self._watched: dict[str, str] = {}
        """The transcripts that are watched, by agent."""
        self._written = Gathered(clock)
        self._looks = SideBySide("a look at the transcript of an open turn", self.look)

    def hear(self, agents: Iterable[Agent]) -> None:
        """These have changed; never waits."""
        for agent in agents:
            name, known = agent.name, self._working.get(agent.name)
            if not _works(agent):
                if known is not None:
                    self._forget(name)
            elif known is None or known[0] != agent.incarnation:
                self._forget(name)
                self._working[name] = agent.incarnation, self._clock.at()
                self._written.note(name)

    def forget_removed(self, agents: Iterable[str]) -> None:
        """These are declared no more."""
        for name in agents:
            self._forget(name)

    async def run(self) -> None:
        """Watch for ever, first those that have been at a turn since before this daemon."""
        self.hear(self._agents())
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._listen)
                await self._written.look(self._looks, lambda every, due: sorted(every))
        finally:
            self._writes.close()

    async def look(self, name: str) -> None:
        """Read what one agent's transcript says now, and watch it from now on."""
        agent, known = self._find(name), self._working.get(name)
        if agent is None or known is None or not _works(agent):
            return
        if name not in self._watched and not await self._is_watched(agent, known):
            if self._clock.at() - known[1] < LATE and self._working.get(name) == known:
                self._written.note(name)
            return
        # What was written before it was watched counts as well.
        await self._refused.look(agent)

    async def _is_watched(self, agent: Agent, turn: tuple[int, Instant]) -> bool:
        """Watch its transcript; False where there is none yet, and where that turn is over meanwhile."""
        path = await self._files.file(agent)
        if path is None or self._working.get(agent.name) != turn:
            return False
        # The disk may have stopped answering since.
        is_watched = await self._writes.watch_aside(path, self._looks.aside)
        if self._working.get(agent.name) != turn:
            self._take_back(path)
            return False
        if is_watched:
            self._watched[agent.name] = path
        return True

    def _forget(self, name: str) -> None:
        self._working.pop(name, None)
        if (path := self._watched.pop(name, None)) is not None:
            self._take_back(path)

    def _take_back(self, path: str) -> None:
        """Watch it no more, unless another agent's turn needs it."""
        if path not in self._watched.values():
            self._writes.forget(path)

    async def _listen(self) -> None:
        while True:
            written = await self._writes.next()
            for name, path in tuple(self._watched.items()):
                if path in written:
                    self._written.note(name)
            # A CLI writes many lines one after the other: one word on them is enough.
            await self._clock.sleep_until(self._clock.at() + GATHER)


def _works(agent: Agent) -> bool:
    state = agent.state
    at_turn = isinstance(state, Running) and state.activity.turn_open and state.activity.waiting is None
    return at_turn and is_told_by_transcript_alone(agent.spec.harness)
