"""A fleet as it is at a moment, by the words by which tables name it; and agents that stand alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from phoenixd.core.agent import Agent
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import Moment
from tests.core.filled import filled
from tests.core.story import Story
from tests.core.test_rules_of_agents import SITUATIONS


class At(NamedTuple):
    """A fleet as it is at a moment. agent: to whom something happens."""

    situation: str
    fleet: Fleet
    agent: Agent
    now: Moment


def at(situation: str, story: Story, name: str = "", after: float = 0.0) -> At:
    """The fleet of a story, `after` seconds later; a handoff of it is called h1."""
    fleet, now = story.fleet, replace(story.now, at=story.at + after, wall=story.wall + after)
    seats = {
        key: replace(seat, handoff=replace(seat.handoff, id="h1")) if seat.handoff is not None else seat
        for key, seat in fleet.seats.items()
    }
    return At(situation, replace(fleet, seats=seats), fleet.agents[name] if name else story.agent, now)


def alone() -> Iterator[At]:
    """Each situation of an agent, in a fleet of that agent alone; an orchestrator holds its seat."""
    for situation, agent, now in SITUATIONS:
        yield At(situation, replace(Story(agent.spec).fleet, agents={agent.name: agent}, next_item=70), agent, now)


KNOWN = ("it works", "it rests", "a loop works", "an orchestrator works", "it starts", "it is being stopped",
         "it backs off", "it is given up", "it is stopped")  # fmt: skip


def known() -> Iterator[At]:
    """An agent with something in each field, so that it shows which are forgotten, or begin anew."""
    for one in alone():
        if one.situation not in KNOWN:
            continue
        state: Any = one.agent.state
        if one.agent.run is not None:
            state = replace(state, run=filled(state.run), activity=filled(state.activity))
        full = replace(filled(one.agent), state=state)
        calm = replace(full, outage=None, limits=replace(full.limits, parking=None), cut=None, resonance=None)
        for what, agent in (("much is known", calm), ("all is known", full)):
            yield At(f"{one.situation}; {what}", replace(one.fleet, agents={agent.name: agent}), agent, one.now)
