"""How the repositories of agents look, for their briefs: when git is asked, and how long it may take."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio

from phoenixd.config.tables import ConfigurationTable
from phoenixd.core.agent import Agent
from phoenixd.documents.workspace import GitSummary
from phoenixd.memory.bulkhead import bulkhead
from phoenixd.memory.desk import Desk
from phoenixd.ports import Clock
from phoenixd.ports.journal import Entry

Publish = Callable[[Agent, Sequence[Entry]], Awaitable[None]]
GitLook = Callable[[str, float], Awaitable[GitSummary | None]]

FIRST_GIT_LIMIT = 1.0
GIT_LIMIT, GIT_SPACING, GIT_PENANCE = 2.0, 30.0, 600.0
"""Seconds: how long git may take, how often it is asked, and how long a repository that failed is left alone."""
GIT_LATER = 2.0
"""Seconds by which git is asked after a brief that did not wait for it: in a burst the starts come first."""


class Repositories:
    """Asks git, and leaves what it says on the agent's desk."""

    def __init__(self, settings: ConfigurationTable, clock: Clock, git: GitLook) -> None:
        self._settings = settings
        self._clock = clock
        self._git = git
        self._unasked: dict[str, Agent] = {}
        """Agents whose brief was written without a look at their repository."""
        self._wanted = anyio.Event()

    def ask_later(self, agent: Agent) -> None:
        """Have `follow` ask for an agent whose brief could not wait."""
        self._unasked[agent.name] = agent
        self._wanted.set()

    async def newest(self, desk: Desk, agent: Agent) -> None:
        """Ask git for a brief's loops, unless it was asked a moment ago; a start waits a second for it, and no more."""
        if self._wants(desk):
            self._take(desk, await self._git(agent.spec.cwd, FIRST_GIT_LIMIT))

    async def first(self, desk: Desk, agent: Agent) -> None:
        """Take the git summary for a brief that has none yet; a start waits a second for it, and no more."""
        if desk.git is None and self._settings.brief.git and desk.git_due == 0.0:
            self._take(desk, await self._git(agent.spec.cwd, FIRST_GIT_LIMIT))

    async def refresh(self, desk: Desk, agent: Agent) -> None:
        """Ask git, unless it was asked a moment ago."""
        if self._wants(desk):
            self._take(desk, await self._git(agent.spec.cwd, GIT_LIMIT))

    async def follow(self, desk_of: Callable[[Agent], Desk], publish: Publish) -> None:
        """Ask git for the briefs that did not wait for it, each directory once however many agents work there."""
        while True:
            await self._wanted.wait()
            await self._clock.sleep_until(self._clock.now().at + GIT_LATER)
            self._wanted = anyio.Event()
            unasked, self._unasked = self._unasked, {}
            by_directory: dict[str, list[Agent]] = {}
            for agent in unasked.values():
                if self._wants(desk_of(agent)):
                    by_directory.setdefault(agent.spec.cwd, []).append(agent)
            for directory, agents in by_directory.items():
                with bulkhead(agents[0].name, "a look at its repository"):
                    summary = await self._git(directory, GIT_LIMIT)
                    for agent in agents:
                        desk = desk_of(agent)
                        if self._is_news(desk, summary) and desk.agent is not None:
                            with bulkhead(agent.name, "what its repository changes"):
                                await publish(desk.agent, ())

    def _wants(self, desk: Desk) -> bool:
        return self._settings.brief.git and self._clock.now().at >= desk.git_due

    def _take(self, desk: Desk, summary: GitSummary | None) -> None:
        failed = summary is not None and summary.problem is not None
        if not failed or desk.git is None:
            desk.git = summary
        desk.git_due = self._clock.now().at + (GIT_PENANCE if failed else GIT_SPACING)

    def _is_news(self, desk: Desk, summary: GitSummary | None) -> bool:
        before = desk.git
        self._take(desk, summary)
        return desk.git != before
