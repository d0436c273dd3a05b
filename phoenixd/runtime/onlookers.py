"""Who looks at agents' terminals: asked of tmux when a client of ours wants to know it, and never else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import structlog

from phoenixd.core.agent import Agent
from phoenixd.core.moment import Instant
from phoenixd.errors import TerminalFailed
from phoenixd.ports import Clock
from phoenixd.runtime.sights import Sights

FRESH = 1.0
"""Seconds for which one answer serves everybody who asks."""
PATIENCE = 0.25
"""Seconds that a client waits for it; a terminal server that is slow holds up no answer."""

log = structlog.get_logger()


class Clients(Protocol):
    """Who is attached."""

    async def clients(self) -> Mapping[str, tuple[int, int]]:
        """For each agent whose terminal is looked at: how many clients, and how many of them may write."""
        ...


class Onlookers:
    """Asks, and tells `Sights`."""

    def __init__(
        self, terminal: Clients, sights: Sights, clock: Clock, agents: Callable[[], Iterable[Agent]] = tuple
    ) -> None:
        self._terminal = terminal
        self._sights = sights
        self._clock = clock
        self._agents = agents
        self._look: asyncio.Task[None] | None = None
        self._looked: Instant | None = None

    async def look(self, patience: float = PATIENCE) -> None:
        """Have `Sights` know who looks on now; after `patience` seconds go on with what it knew before."""
        if self._look is None or self._look.done():
            if self._looked is not None and self._clock.at() - self._looked < FRESH:
                return
            self._look = asyncio.create_task(self._ask())
        await asyncio.wait({self._look}, timeout=patience)

    async def _ask(self) -> None:
        try:
            seen = await self._terminal.clients()
        except (TerminalFailed, OSError) as failure:
            log.debug("clients_unknown", reason=str(failure))
            return
        finally:
            self._looked = self._clock.at()
        alive = {agent.name: (0, 0) for agent in self._agents() if agent.run is not None}
        self._sights.attached({**alive, **{name: told for name, told in seen.items() if name in alive}})
