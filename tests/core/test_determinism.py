"""The same events at the same moments give the same fleet: a journal can be replayed, and a decision explained."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, get_args, get_type_hints

from hypothesis import given
from hypothesis import strategies as st

from phoenixd.core.agent.state import Parked
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.orders import AgentDeclared
from phoenixd.core.fleet import Fleet, Step
from phoenixd.core.inbox import inbox
from phoenixd.core.moment import Moment
from phoenixd.core.projection import project
from phoenixd.core.step import step
from tests.agents import values_of
from tests.core.story import EPOCH, claude, spec
from tests.journaled import dump_agent, load_agent

BASE = Fleet()
SPECS = (spec("a"), claude("b"), spec("a", cwd="/elsewhere"), claude("b", prompt=None))

Told = tuple[Event, Moment]


def events_of(kind: Any) -> st.SearchStrategy[Any]:
    """Any event of a kind, about agents that there are, or nearly."""
    hints = get_type_hints(kind)
    values = {field.name: values_of(hints[field.name]) for field in fields(kind)}
    values |= {"agent": st.sampled_from("abx")} if "agent" in values else {}
    values |= {"incarnation": st.integers(0, 4)} if "incarnation" in values else {}
    values |= {"spec": st.sampled_from(SPECS)} if "spec" in values else {}
    # A journal holds no environments, so that no specification of a history has one.
    values |= {"specs": st.lists(st.sampled_from(SPECS), max_size=3).map(tuple)} if "specs" in values else {}
    values |= {"lease": st.none() | st.floats(0, 1e6)} if "lease" in values else {}
    values |= {"age": st.none() | st.floats(-1e6, 1e6)} if "age" in values else {}
    values |= {"at_wall": st.none() | st.floats(0, 4e9)} if "at_wall" in values else {}
    return st.builds(kind, **values)


events = st.one_of(*[events_of(kind) for kind in get_args(Event)], st.just(Tick()))
gaps = st.sampled_from([0.0, 0.0, 0.1, 1.0, 30.0, 900.0, 1e5])


@st.composite
def histories(draw: st.DrawFn) -> list[Told]:
    at, told = 0.0, [(AgentDeclared(one, start=True), Moment(0.0, EPOCH, 0.5, "0")) for one in SPECS[:2]]
    for number, event in enumerate(draw(st.lists(events, max_size=30))):
        at += draw(gaps)
        told.append((event, Moment(at, EPOCH + draw(st.floats(-1e6, 1e6)), draw(st.floats(0, 0.999)), str(number))))
    return told


def belonging(fleet: Fleet, event: Event) -> Event:
    """Half of the records name the living run, so that they are believed."""
    agent = fleet.agents.get(getattr(event, "agent", ""))
    if agent is not None and agent.run is not None and len(getattr(event, "run_id", "")) % 2 == 0:
        if hasattr(event, "run_id"):
            return replace(event, run_id=agent.run.run_id)
    return event


def play(told: list[Told], fleet: Fleet = BASE) -> list[Step]:
    steps = []
    for event, now in told:
        steps.append(step(fleet, belonging(fleet, event), now))
        fleet = steps[-1].fleet
    return steps


@given(histories())
def test_the_same_events_and_moments_give_the_same_fleet_decisions_and_words(told: list[Told]) -> None:
    assert play(told) == play(told)


@given(histories(), st.integers(0, 30))
def test_a_fleet_that_was_saved_and_loaded_goes_on_as_if_nothing_had_been(told: list[Told], cut: int) -> None:
    uncut = play(told)
    before = uncut[min(cut, len(uncut) - 1)].fleet
    loaded = replace(before, agents={name: load_agent(dump_agent(one)) for name, one in before.agents.items()})
    assert loaded == before
    rest = told[min(cut, len(uncut) - 1) + 1 :]
    assert play(rest, loaded) == uncut[len(uncut) - len(rest) :]


@given(histories())
def test_no_event_at_any_moment_is_too_much(told: list[Told]) -> None:
    for (_, now), done in zip(told, play(told), strict=True):
        next_deadline(done.fleet, now)
        project(done.fleet, now)
        inbox(done.fleet)
        for agent in done.fleet.agents.values():
            assert agent.reason
        for decision in done.decisions:
            assert decision.reason or not decision.actions


@given(histories())
def test_an_agent_that_is_down_waits_something_out_exactly_where_it_is_parked(told: list[Told]) -> None:
    for done in play(told):
        for agent in done.fleet.agents.values():
            if agent.run is None:
                assert (agent.limits.parking is not None) == isinstance(agent.state, Parked), agent.reason


@given(histories())
def test_a_step_changes_only_the_agents_that_it_decided_on(told: list[Told]) -> None:
    fleet = BASE
    for event, now in told:
        done = step(fleet, belonging(fleet, event), now)
        decided = {decision.agent.name for decision in done.decisions if decision.agent is not None}
        for name in set(fleet.agents) | set(done.fleet.agents):
            if name not in decided:
                assert done.fleet.agents.get(name) is fleet.agents.get(name), event
        fleet = done.fleet
