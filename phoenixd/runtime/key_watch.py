"""Tells when somebody types at the terminal of an agent that asks something there, by the kernel's word that it read.

No hook tells of a Yes before its call has ended. Only terminals with a dialog are watched, and nothing is polled: who
answers makes the program read. What was typed is not known here, nor who typed it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import anyio
import structlog

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.events.evidence import KeysRead
from phoenixd.core.turn.liveness import may_be_answered
from phoenixd.errors import TerminalFailed
from phoenixd.ports import Clock
from phoenixd.ports.evidence import Reads

GATHER = 0.1
"""Seconds between two words on it: who writes a long answer is one who types."""

log = structlog.get_logger()


class Ttys(Protocol):
    """Where panes are."""

    async def tty(self, agent: str) -> str:
        """The path of the terminal that the agent's program reads; raises TerminalFailed."""
        ...


class KeyWatch:
    """Follows who asks, and tells `KeysRead`. reads: nobody else's."""

    def __init__(
        self,
        terminal: Ttys,
        reads: Reads,
        clock: Clock,
        tell: Callable[[KeysRead], None],
        agents: Callable[[], Iterable[Agent]] = tuple,
    ) -> None:
        self._terminal, self._reads, self._clock, self._tell, self._agents = terminal, reads, clock, tell, agents
        self._asking: dict[str, int] = {}
        """The runs that ask, by agent."""
        self._watched: dict[str, tuple[int, str]] = {}
        """The runs whose terminals are watched, with their paths."""
        self._changed = anyio.Event()

    def hear(self, agents: Iterable[Agent]) -> None:
        """These have changed; never waits."""
        for agent in agents:
            asks = agent.incarnation if _asks(agent) else None
            if asks == self._asking.get(agent.name):
                continue
            if asks is None:
                del self._asking[agent.name]
            else:
                self._asking[agent.name] = asks
            self._changed.set()

    async def run(self) -> None:
        """Watch for ever, first those that have asked since before this daemon."""
        self.hear(self._agents())
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._listen)
                while True:
                    await self._changed.wait()
                    self._changed = anyio.Event()
                    await self._follow()
        finally:
            self._reads.close()

    async def _follow(self) -> None:
        """Watch the terminals of those that ask, and no others."""
        for name, (incarnation, path) in tuple(self._watched.items()):
            if self._asking.get(name) != incarnation:
                self._reads.forget(path)
                del self._watched[name]
        for name, incarnation in tuple(self._asking.items()):
            if name in self._watched:
                continue
            try:
                path = await self._terminal.tty(name)
            except TerminalFailed as failure:
                # Looks at its screen tell it later.
                log.info("terminal_not_watched", agent=name, reason=failure.message)
                self._give_up(name, incarnation)
                continue
            if self._asking.get(name) != incarnation:
                continue
            if self._reads.watch(path):
                self._watched[name] = incarnation, path
            else:
                self._give_up(name, incarnation)

    def _give_up(self, name: str, incarnation: int) -> None:
        """Until the next that is heard of the agent: one look that failed must not be the last one."""
        if self._asking.get(name) == incarnation:
            del self._asking[name]

    async def _listen(self) -> None:
        while True:
            read = await self._reads.next()
            for name, (incarnation, path) in tuple(self._watched.items()):
                if path in read:
                    self._tell(KeysRead(name, incarnation))
            await self._clock.sleep_until(self._clock.at() + GATHER)


def _asks(agent: Agent) -> bool:
    state = agent.state
    return isinstance(state, Running) and agent.spec.has_hooks and may_be_answered(state.activity)
