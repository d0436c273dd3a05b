"""An end with 0 of a CLI that tells neither by its exit code nor by a hook who ended it: its terminal is looked at.

It takes leave there of a person who leaves it, and of no signal. Where the look comes too late, or shows no farewell,
the end is told as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import anyio
import structlog

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import is_its_own
from phoenixd.core.events.runs import AgentExited
from phoenixd.documents.incident import as_left
from phoenixd.errors import TerminalFailed
from phoenixd.ports import Sink
from phoenixd.ports.terminal import Screens

PATIENCE = 2.0
"""Seconds for which an end is kept back at most."""
HISTORY = 40
"""Lines that have scrolled off: what is written below the farewell may have moved it."""

log = structlog.get_logger()


class Panes(Protocol):
    """What panes show."""

    async def capture(self, agent: str, history: int = 0) -> str:
        """The visible text, and lines that scrolled off it; raises TerminalFailed."""
        ...


class Farewells:
    """Looks and tells; what follows is the core's to say."""

    def __init__(
        self,
        find: Callable[[str], Agent | None],
        tell: Sink,
        panes: Panes,
        screens: Screens,
        patience: float = PATIENCE,
    ) -> None:
        self._find, self._tell, self._panes, self._screens = find, tell, panes, screens
        self._patience = patience
        self._under_way: set[tuple[str, str]] = set()

    def may_be(self, ended: AgentExited) -> bool:
        """Whether its terminal may say that a person left it."""
        if ended.cause != "exit" or ended.code != 0:
            return False
        agent = self._find(ended.agent)
        if agent is None or agent.run is None or agent.run.run_id != ended.run_id or agent.spec.task:
            return False
        return is_its_own(agent.state) and agent.spec.leaves_in_silence

    async def tell(self, ended: AgentExited) -> None:
        """Tell the end, and whether a person left it."""
        key = (ended.agent, ended.run_id)
        if key in self._under_way:
            # A shim that is asked anew says the same end again.
            return
        self._under_way.add(key)
        left = False
        try:
            left = await self._is_left(ended)
        finally:
            self._under_way.discard(key)
            self._tell(replace(ended, left=left))

    async def _is_left(self, ended: AgentExited) -> bool:
        try:
            with anyio.move_on_after(self._patience):
                shown = await self._panes.capture(ended.agent, HISTORY)
                agent = self._find(ended.agent)
                return agent is not None and self._screens.left(agent, as_left(shown, ended.agent))
        except TerminalFailed as failure:
            log.warning("end_without_screen", agent=ended.agent, reason=failure.message)
        return False
