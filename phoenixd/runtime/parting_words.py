"""A CLI that died before anything was heard of it: what its terminal shows last is told with its end.

One that finds no network at its first start fires no hook and writes no transcript: it prints why, and exits. The text
is shown to people, and nothing is decided by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import anyio

from phoenixd.core.agent import Agent
from phoenixd.core.events.runs import AgentExited
from phoenixd.documents.incident import as_left, last_paragraph, of_last_run
from phoenixd.ports.terminal import Panes
from phoenixd.runtime.post_mortem import HISTORY

PATIENCE = 0.5
AT_ONCE = 8
"""Terminals that are read at once: each takes a process and some descriptors, and all agents may die in one moment."""


class PartingWords:
    """A look at the last words that a terminal shows."""

    def __init__(
        self,
        panes: Panes,
        clean: Callable[[str, str], str] = lambda agent, text: text,
        patience: float = PATIENCE,
    ) -> None:
        """clean: takes the secrets of an agent out of a text."""
        self._panes, self._clean, self.patience = panes, clean, patience
        self._places = anyio.CapacityLimiter(AT_ONCE)

    def may_tell(self, agent: Agent, ended: AgentExited) -> bool:
        """Whether nothing but its terminal may say why it ended."""
        is_failure = bool(ended.code) and ended.signal is None
        return is_failure and agent.spec.has_hooks and agent.run is not None and not agent.run.evidence

    async def found(self, ended: AgentExited) -> tuple[AgentExited]:
        """The end, with what the terminal shows."""
        async with self._places:
            screen = await self._panes.capture(ended.agent, HISTORY)
        left = of_last_run(as_left(screen, ended.agent), ended.agent)
        return (replace(ended, shown=last_paragraph(left, lambda text: self._clean(ended.agent, text))),)
