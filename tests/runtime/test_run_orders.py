"""What a start waits for: a terminal for its shim, and the end of one that leaves; and what is cleaned up."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from phoenixd.core.actions import CleanUp, Release, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.events.runs import StartFailed
from phoenixd.ports.processes import Leftover, Leftovers
from phoenixd.runtime.run_orders import RunOrders
from tests.core.story import Story
from tests.runtime.test_messages import FastClock


class Silent:
    """No shim, and a tmux server that neither answers nor can be started."""

    def __init__(self) -> None:
        self.shims = self.terminal = self.starter = self
        self.asked: list[str] = []

    async def connect(self, agent: str) -> None:
        return None

    async def observe(self) -> bool:
        self.asked.append("observe")
        return False

    async def revive(self) -> bool:
        self.asked.append("revive")
        return False


async def test_without_a_terminal_a_start_fails_by_that_name_and_nothing_else_is_tried() -> None:
    story, silent, told = Story(), Silent(), list[Event]()
    story.start()
    orders = RunOrders(cast(Any, silent), story.fleet.agents.get, told.append, cast(Any, None))
    await orders.spawn(story.of(Spawn)[-1])
    assert silent.asked == ["observe", "revive"]
    assert told == [StartFailed("a", 1, 0, "the tmux server does not answer")]


class Clock(FastClock):
    """Whoever sleeps lets others have their turn."""

    async def sleep_until(self, at: float) -> None:
        await super().sleep_until(at)
        await asyncio.sleep(0)


class Leaving:
    """A shim that is gone as soon as it is told to leave; that its link has ended is read in a later turn."""

    def __init__(self) -> None:
        self.shims = self.terminal = self.evidence = self.processes = self
        self.clock = Clock()
        self.said: list[str] = []
        self.hello: Any = SimpleNamespace(shim="its process")

    async def connect(self, agent: str) -> Any:
        return self.hello

    def forget(self, agent: str) -> None:
        self.said.append("forget")

    def let_go(self, agent: str) -> None:
        self.said.append("let go")

    def quit(self, agent: str) -> None:
        self.said.append("quit")
        asyncio.get_running_loop().call_soon(self.closed)

    def closed(self) -> None:
        self.hello = None

    async def close_pane(self, agent: str) -> None:
        self.said.append("close pane")

    def is_alive(self, shim: object) -> bool:
        return False


async def test_what_begins_after_a_release_meets_no_link_to_the_shim_that_left() -> None:
    """An agent of the same name may begin right after, and its first order would go to nobody."""
    leaving, told = Leaving(), list[Event]()
    orders = RunOrders(cast(Any, leaving), Story().fleet.agents.get, told.append, cast(Any, leaving))
    await orders.release(Release("a"))

    assert await leaving.connect("a") is None
    assert leaving.said == ["forget", "let go", "quit", "close pane"]
    assert told == []


async def test_nothing_is_cleaned_up_for_an_agent_that_was_removed_meanwhile() -> None:
    story, told, cleaned = Story(), list[Event](), list[Agent]()

    async def clean(agent: Agent) -> Leftovers:
        cleaned.append(agent)
        return Leftovers((Leftover(7, "server", "left over (run 1)"),))

    outside = cast(Any, SimpleNamespace(cleaner=SimpleNamespace(clean=clean)))
    for agents in ({}, story.fleet.agents):
        orders = RunOrders(outside, agents.get, told.append, cast(Any, None))
        await orders.clean(CleanUp("a", 1), "after run 1")
        assert (cleaned, len(told)) == (list(agents.values()), len(agents))
