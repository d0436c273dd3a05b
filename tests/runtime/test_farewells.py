"""The terminal of a CLI that ends with 0 either way is looked at before its end is judged (X4, P53)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Stopped
from phoenixd.core.events import Event
from phoenixd.core.events.runs import AgentExited
from phoenixd.documents.incident import NOTHING_RUNS
from phoenixd.errors import TerminalFailed
from phoenixd.harness.screens import Screens
from phoenixd.runtime.farewells import Farewells
from tests.core.story import Story, claude

ENDED = Path(__file__).parents[1] / "harness" / "gemini" / "ended"
RECORDED = "9af666a3-67e7-428d-b17a-50be7c761d09"


class House:
    """One run at rest, and what its terminal shows; None: tmux does not answer."""

    def __init__(self, shows: str | None, **changes: object) -> None:
        self.story = Story(claude(**{"harness": "gemini", **changes})).works()
        self.story.hook("stop")
        shown = (ENDED / f"{shows}.txt").read_text() if shows else ""
        below = f"phoenixd: a ended with exit status 0.\n{NOTHING_RUNS.format(agent='a')}\n"
        self.shows = shown.replace(RECORDED, self.story.run.session_id) + below if shows else None
        self.told: list[Event] = []
        self.looks = 0
        self.farewells = Farewells(self.find, self.tell, self, Screens(lambda: self.story.wall), patience=60.0)

    def find(self, name: str) -> Agent | None:
        return self.story.fleet.agents.get(name)

    def tell(self, event: Event) -> None:
        self.told.append(event)
        self.story.tell(event)

    async def capture(self, agent: str, history: int = 0) -> str:
        self.looks += 1
        if self.shows is None:
            raise TerminalFailed("no server")
        await anyio.lowlevel.checkpoint()
        return self.shows

    def end(self, code: int | None = 0, signal: int | None = None) -> AgentExited:
        return AgentExited("a", 1, self.story.run.run_id, code, signal, lived=4.0)

    async def ends(self, code: int | None = 0, signal: int | None = None) -> None:
        ended = self.end(code, signal)
        if self.farewells.may_be(ended):
            await self.farewells.tell(ended)
        else:
            self.tell(ended)


@pytest.mark.parametrize("how", ["left-by-a-command", "left-by-keys", "left-by-keys-in-a-narrow-pane"])
async def test_p53_who_leaves_within_seconds_of_the_start_has_left(how: str) -> None:
    house = House(how)
    await house.ends()

    assert isinstance(house.story.state, Stopped), house.story.agent.reason
    assert house.story.agent.crashes == ()
    assert house.story.fleet.cases.cases == ()


@pytest.mark.parametrize("how", ["terminated-at-rest", "terminated-in-a-turn", "hung-up", None])
async def test_x4_an_early_end_that_no_person_made_is_a_crash(how: str | None) -> None:
    house = House(how)
    await house.ends()

    assert house.story.agent.incarnation == 2, house.story.agent.reason
    assert len(house.story.agent.crashes) == 1
    assert [event.left for event in house.told if isinstance(event, AgentExited)] == [False]


@pytest.mark.parametrize(("code", "signal"), [(1, None), (None, 15), (41, None)])
async def test_what_ends_otherwise_is_told_at_once(code: int | None, signal: int | None) -> None:
    house = House("left-by-keys")
    await house.ends(code, signal)

    assert house.looks == 0
    assert len(house.told) == 1


async def test_who_tells_it_by_a_hook_and_who_has_no_input_line_is_not_looked_at() -> None:
    house = House("left-by-keys", harness="claude")
    assert not house.farewells.may_be(house.end())

    house = House("left-by-keys")
    agent = house.story.agent
    worker = replace(agent, spec=replace(agent.spec, task="t1"))
    house.story.fleet = replace(house.story.fleet, agents={"a": worker})
    assert not house.farewells.may_be(house.end())


async def test_an_end_by_order_and_one_of_an_older_run_are_told_as_they_are() -> None:
    house = House("left-by-keys")
    old = AgentExited("a", 1, "another", 0, None)
    assert not house.farewells.may_be(old)
    house.story.stop()
    assert not house.farewells.may_be(house.end())


async def test_an_end_that_a_shim_says_twice_is_looked_at_once() -> None:
    house = House("left-by-keys")
    ended = house.end()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.farewells.tell, ended)
        tasks.start_soon(house.farewells.tell, ended)

    assert (house.looks, len(house.told)) == (1, 1)
