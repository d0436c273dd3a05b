"""An end with 0 of a CLI that tells neither by its exit code nor by a hook who ended it: its terminal is looked at.

It takes leave there of a person who leaves it, and of no signal. Where the look comes too late, or shows no farewell,
the end is told as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from phoenixd.core.agent import Agent
from phoenixd.core.events.runs import AgentExited
from phoenixd.documents.incident import as_left
from phoenixd.ports.terminal import Panes, Screens
from phoenixd.runtime.post_mortem import HISTORY

PATIENCE = 2.0


class Farewells:
    """A look whether the terminal says that a person left it."""

    def __init__(
        self, find: Callable[[str], Agent | None], panes: Panes, screens: Screens, patience: float = PATIENCE
    ) -> None:
        self._find, self._panes, self._screens, self.patience = find, panes, screens, patience

    def may_tell(self, agent: Agent, ended: AgentExited) -> bool:
        """Whether its terminal may say that a person left it."""
        return ended.code == 0 and not agent.spec.task and agent.spec.leaves_in_silence

    async def found(self, ended: AgentExited) -> tuple[AgentExited]:
        """The end, and whether a person left it."""
        shown = await self._panes.capture(ended.agent, HISTORY)
        agent = self._find(ended.agent)
        left = agent is not None and self._screens.left(agent, as_left(shown, ended.agent))
        return (replace(ended, left=left),)
