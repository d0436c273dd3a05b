"""What a start waits for: a terminal in which its shim can live."""

from __future__ import annotations

from typing import Any, cast

from phoenixd.core.actions import Spawn
from phoenixd.core.events import Event
from phoenixd.core.events.runs import StartFailed
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
