"""The terminal of a CLI that ends with 0 either way is looked at before its end is judged (X4, P53)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.core.agent.state import Stopped
from phoenixd.core.events.runs import AgentExited
from phoenixd.harness.screens import Screens
from phoenixd.runtime.farewells import Farewells
from tests.core.story import Story, claude
from tests.runtime.morgue import Morgue, Pane

ENDED = Path(__file__).parents[1] / "harness" / "gemini" / "ended"
RECORDED = "9af666a3-67e7-428d-b17a-50be7c761d09"


class House(Morgue):
    """One run at rest, and what its terminal shows; None: tmux does not answer."""

    def __init__(self, shows: str | None, **changes: object) -> None:
        story = Story(claude(**{"harness": "gemini", **changes})).works()
        story.hook("stop")
        shown = (ENDED / f"{shows}.txt").read_text() if shows else None
        self.pane = Pane(shown and shown.replace(RECORDED, story.run.session_id))
        super().__init__(story, Farewells(self.find, self.pane, Screens(lambda: story.wall), patience=60.0))


@pytest.mark.parametrize("how", ["left-by-a-command", "left-by-keys", "left-by-keys-in-a-narrow-pane"])
async def test_p53_who_leaves_within_seconds_of_the_start_has_left(how: str) -> None:
    house = House(how)
    await house.ends(house.end(0))

    assert isinstance(house.story.state, Stopped), house.story.agent.reason
    assert house.story.agent.crashes == ()
    assert house.story.fleet.cases.cases == ()


@pytest.mark.parametrize("how", ["terminated-at-rest", "terminated-in-a-turn", "hung-up", None])
async def test_x4_an_early_end_that_no_person_made_is_a_crash(how: str | None) -> None:
    house = House(how)
    await house.ends(house.end(0))

    assert house.story.agent.incarnation == 2, house.story.agent.reason
    assert len(house.story.agent.crashes) == 1
    assert [event.left for event in house.told if isinstance(event, AgentExited)] == [False]


@pytest.mark.parametrize(("code", "signal"), [(1, None), (None, 15), (41, None)])
async def test_what_ends_otherwise_is_told_at_once(code: int | None, signal: int | None) -> None:
    house = House("left-by-keys")

    assert not await house.ends(house.end(code, signal))
    assert house.pane.looks == 0


async def test_who_tells_it_by_a_hook_and_who_has_no_input_line_is_not_looked_at() -> None:
    house = House("left-by-keys", harness="claude")
    assert not await house.ends(house.end(0))

    house = House("left-by-keys")
    agent = house.story.agent
    worker = replace(agent, spec=replace(agent.spec, task="t1"))
    house.story.fleet = replace(house.story.fleet, agents={"a": worker})
    assert not await house.ends(house.end(0))
