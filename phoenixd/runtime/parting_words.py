"""A CLI that died before anything was heard of it: what its terminal shows last is told with its end.

One that finds no network at its first start fires no hook and writes no transcript: it prints why, and exits. The text
is shown to people, and nothing is decided by it.
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
from phoenixd.documents.incident import as_left, last_paragraph, of_last_run
from phoenixd.errors import TerminalFailed
from phoenixd.ports import Sink

PATIENCE = 0.5
"""Seconds for which an end is kept back at most."""
AT_ONCE = 8
"""Terminals that are read at once: each takes a process and some descriptors, and all agents may die in one moment."""

log = structlog.get_logger()


class Panes(Protocol):
    """What panes show."""

    async def capture(self, agent: str, history: int = 0) -> str:
        """The visible text, and lines that scrolled off it; raises TerminalFailed."""
        ...


class PartingWords:
    """Looks and tells; what follows is the core's to say."""

    def __init__(
        self,
        find: Callable[[str], Agent | None],
        tell: Sink,
        panes: Panes,
        clean: Callable[[str, str], str] = lambda agent, text: text,
        patience: float = PATIENCE,
    ) -> None:
        """clean: takes the secrets of an agent out of a text."""
        self._find, self._tell, self._panes, self._clean = find, tell, panes, clean
        self._patience = patience
        self._places = anyio.CapacityLimiter(AT_ONCE)
        self._under_way: set[tuple[str, str]] = set()

    def may_be(self, ended: AgentExited) -> bool:
        """Whether nothing but its terminal may say why it ended."""
        if ended.cause != "exit" or not ended.code or ended.signal is not None:
            return False
        agent = self._find(ended.agent)
        if agent is None or agent.run is None or agent.run.run_id != ended.run_id:
            return False
        return is_its_own(agent.state) and agent.spec.has_hooks and not agent.run.evidence

    async def tell(self, ended: AgentExited) -> None:
        """Tell the end, with what the terminal shows if that can be seen in time."""
        key = (ended.agent, ended.run_id)
        if key in self._under_way:
            # A shim that is asked anew says the same end again.
            return
        self._under_way.add(key)
        shown = ""
        try:
            shown = await self._shown(ended)
        finally:
            self._under_way.discard(key)
            self._tell(replace(ended, shown=shown))

    async def _shown(self, ended: AgentExited) -> str:
        try:
            with anyio.move_on_after(self._patience):
                async with self._places:
                    screen = await self._panes.capture(ended.agent)
                left = of_last_run(as_left(screen, ended.agent), ended.agent)
                return last_paragraph(left, lambda text: self._clean(ended.agent, text))
        except TerminalFailed as failure:
            log.warning("end_without_screen", agent=ended.agent, reason=failure.message)
        return ""
