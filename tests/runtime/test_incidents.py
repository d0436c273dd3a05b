"""What stands around an incident: the work of an open call, and of a terminal's end what was seen of that run."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from phoenixd.core.actions import LookAtCall, RecordIncident
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Incident
from phoenixd.core.agent.state import Running
from phoenixd.core.events.evidence import CallWorkSeen
from phoenixd.ports.processes import ProcessIdentity
from phoenixd.runtime.incidents import MOST_PANES, PANE_LIMIT, Incidents
from tests.core.story import EPOCH, Story, claude

AGENT = Story(claude()).works().agent


class Processes:
    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def boot_id(self) -> str:
        return "boot"

    async def work_since(self, *asked: Any) -> Any:
        self.asked.append(asked)
        return SimpleNamespace(cpu=1.5, io=7, processes=2, unread=1)


def incident(agent: str = "a", incarnation: int = 1) -> RecordIncident:
    return RecordIncident(agent, incarnation, Incident(incarnation, "hang", "it hung", EPOCH), ())


async def looked(agent: Agent | None, incarnation: int = 1) -> tuple[list[Any], list[tuple[Any, ...]]]:
    told: list[Any] = []
    processes = Processes()
    outside = cast(Any, SimpleNamespace(processes=processes))
    await Incidents(outside, lambda name: agent, told.append).look_at_call(LookAtCall("a", incarnation, 9))
    return told, processes.asked


async def test_the_work_of_an_open_call_is_that_of_the_process_of_this_run() -> None:
    told, asked = await looked(AGENT)
    assert told == [CallWorkSeen("a", 1, 9, 1.5, 7, 2, 1)]
    assert asked == [("a", 1, ProcessIdentity("boot", 100, 1000), 9)]


@pytest.mark.parametrize("why", ["gone", "down", "another run", "no pid", "no start time"])
async def test_a_call_of_a_run_that_is_over_or_of_no_known_process_is_not_looked_at(why: str) -> None:
    state = AGENT.state
    assert isinstance(state, Running)
    agents: dict[str, Agent | None] = {
        "gone": None, "down": Story(claude()).agent, "another run": AGENT,
        "no pid": replace(AGENT, state=replace(state, run=replace(state.run, pid=None))),
        "no start time": replace(AGENT, state=replace(state, run=replace(state.run, start_time=None))),
    }  # fmt: skip
    assert await looked(agents[why], 2 if why == "another run" else 1) == ([], [])


async def test_of_a_terminal_its_end_is_remembered_for_the_run_that_it_showed_and_for_so_many_agents() -> None:
    incidents = Incidents(cast(Any, None), lambda name: AGENT, lambda event: None)
    incidents._remember(incident(), "x" * PANE_LIMIT + "y")
    assert await incidents.pane_of("a", 1) == "x" * (PANE_LIMIT - 1) + "y"
    assert await incidents.pane_of("a", 2) == ""
    assert await incidents.pane_of("b", 1) == ""

    incidents._remember(incident(), "")
    assert (await incidents.pane_of("a", 1)).endswith("y"), "what the same run showed before says more than nothing"
    incidents._remember(incident(), "newer")
    assert await incidents.pane_of("a", 1) == "newer"
    incidents._remember(incident(incarnation=2), "")
    assert (await incidents.pane_of("a", 1), await incidents.pane_of("a", 2)) == ("", "")

    for number in range(MOST_PANES):
        incidents._remember(incident(f"b{number}"), "seen")
    assert "a" not in incidents._panes, "the oldest is forgotten"
    assert len(incidents._panes) == MOST_PANES
    assert await incidents.pane_of("b0", 1) == "seen"
