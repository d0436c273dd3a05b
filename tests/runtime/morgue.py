"""An agent whose run has ended, what its terminal shows, and the looks at what it has left."""

from __future__ import annotations

import anyio

from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.events.runs import AgentExited
from phoenixd.documents.incident import NOTHING_RUNS
from phoenixd.errors import TerminalFailed
from phoenixd.runtime.post_mortem import Look, PostMortem
from tests.core.story import Story


class Morgue:
    """What is told of the agent is heard by its story."""

    def __init__(self, story: Story, *looks: Look) -> None:
        self.story, self.looks, self.told = story, looks, list[Event]()

    def find(self, name: str) -> Agent | None:
        return self.story.fleet.agents.get(name)

    def tell(self, event: Event) -> None:
        self.told.append(event)
        self.story.tell(event)

    def end(self, code: int | None = 1, signal: int | None = None) -> AgentExited:
        run = self.story.run
        return AgentExited("a", run.incarnation, run.run_id, code, signal, lived=2.0)

    async def ends(self, *ends: AgentExited) -> bool:
        """Whether they were held back. They are told as soon as that is over, or as they are."""
        async with anyio.create_task_group() as tasks:
            post_mortem = PostMortem(self.find, self.tell, tasks, self.looks)
            held = [post_mortem.looks_into(ended) for ended in ends]
        if not held[0]:
            self.tell(ends[0])
        return held[0]


class Pane:
    """A terminal with what the shim has written below; None: tmux does not answer."""

    def __init__(self, shows: str | None) -> None:
        self.shows, self.looks = shows, 0

    async def capture(self, agent: str, history: int = 0) -> str:
        self.looks += 1
        await anyio.lowlevel.checkpoint()
        if self.shows is None:
            raise TerminalFailed("no server")
        below = f"phoenixd: {agent} ended with exit status 1.\n{NOTHING_RUNS.format(agent=agent)}\n"
        return f"{self.shows.rstrip()}\n\n{below}"
