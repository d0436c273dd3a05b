"""What a start waits for: a terminal in which its shim can live. What is cleaned up is of an agent that is there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from phoenixd.core.actions import CleanUp, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.events.runs import StartFailed
from phoenixd.ports.processes import Leftover, Leftovers
from phoenixd.runtime.run_orders import RunOrders
from tests.core.story import Story


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
