"""An agent whose run has ended, what its terminal shows, and the looks at what it has left."""

from __future__ import annotations

import textwrap

import anyio

from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.events.runs import AgentExited
from phoenixd.errors import TerminalFailed
from phoenixd.runtime.post_mortem import Look, PostMortem
from phoenixd.shim.notice import default_notice, marked
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
    """A narrow terminal with what the shim has written below; None: tmux does not answer.

    As tmux shows it: where lines that scrolled off are asked for as well, a line that it broke is one line.
    """

    def __init__(self, shows: str | None, columns: int = 40) -> None:
        self.shows, self.columns, self.looks = shows, columns, 0

    async def capture(self, agent: str, history: int = 0) -> str:
        self.looks += 1
        await anyio.lowlevel.checkpoint()
        if self.shows is None:
            raise TerminalFailed("no server")
        below = [marked(line) for line in default_notice(agent, {"code": 1, "ended_at": "2026-11-30T00:00:00.123Z"})]
        lines = [*self.shows.rstrip().splitlines(), "", *below]
        if not history:
            lines = [row for line in lines for row in textwrap.wrap(line, self.columns) or [""]]
        return "\n".join(lines) + "\n"
