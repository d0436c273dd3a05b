"""Who looks at terminals: one answer serves all who ask within a second, and a slow terminal holds nobody up."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from phoenixd.core.agent import Agent
from phoenixd.errors import TerminalFailed
from phoenixd.runtime.onlookers import FRESH, Onlookers
from tests.core.story import Story, claude


class House:
    """A terminal server whose clients a test sets, a clock that it moves, and what was told of both."""

    def __init__(self) -> None:
        works = Story(claude("a")).works().agent
        self.agents: list[Agent] = [works, Story(claude("down", autostart=False)).agent]
        self.seen: dict[str, tuple[int, int]] = {}
        self.asked, self.time = 0, 100.0
        self.told: list[Mapping[str, tuple[int, int]]] = []
        self.fails = False
        self.answers = asyncio.Event()
        self.answers.set()
        house: Any = self
        self.onlookers = Onlookers(house, house, house, lambda: self.agents)

    async def clients(self) -> Mapping[str, tuple[int, int]]:
        self.asked += 1
        await self.answers.wait()
        if self.fails:
            raise TerminalFailed("no server")
        return self.seen

    def attached(self, told: Mapping[str, tuple[int, int]]) -> None:
        self.told.append(dict(told))

    def at(self) -> float:
        return self.time


async def test_each_living_agent_is_told_of_whether_somebody_looks_or_nobody() -> None:
    house = House()
    house.seen = {"down": (1, 1), "stranger": (1, 0)}
    await house.onlookers.look()
    house.time += FRESH
    house.seen = {"a": (2, 1)}
    await house.onlookers.look()

    assert house.told == [{"a": (0, 0)}, {"a": (2, 1)}]


async def test_one_answer_serves_all_who_ask_within_its_time() -> None:
    house = House()
    await house.onlookers.look()
    house.time += FRESH - 0.01
    await house.onlookers.look()
    assert house.asked == 1
    house.time += 0.01
    await house.onlookers.look()
    assert house.asked == 2


async def test_a_slow_terminal_holds_nobody_up_and_is_asked_once() -> None:
    house = House()
    house.answers.clear()
    await house.onlookers.look(patience=0)
    house.time += 10 * FRESH
    await house.onlookers.look(patience=0)
    assert (house.asked, house.told) == (1, [])
    house.answers.set()
    await house.onlookers.look()
    assert house.told == [{"a": (0, 0)}]


async def test_a_terminal_that_fails_is_told_of_nobody_and_asked_again_later() -> None:
    house = House()
    house.fails = True
    await house.onlookers.look()
    assert (house.asked, house.told) == (1, [])
    house.fails = False
    await house.onlookers.look()
    assert house.asked == 1, "a failing server is not asked at once"
    house.time += FRESH
    await house.onlookers.look()
    assert house.told == [{"a": (0, 0)}]
