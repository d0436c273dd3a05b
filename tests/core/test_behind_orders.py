"""Promises 2 and 9: what is ordered and declared after a lost journal, and that nothing starts over what lives."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from phoenixd.core.actions import Spawn
from phoenixd.core.agent.state import Desired, Running, Stopped, Stopping
from phoenixd.core.behind.plan import ROW_GAP, first_row_after
from phoenixd.core.behind.world import Trace, Wish, World
from phoenixd.core.events.fleet import JournalBehind, RecoveryConfirmed
from phoenixd.core.events.orders import (
    AgentDeclared,
    AgentWithdrawn,
    OperatorEvent,
    RestartRequested,
    SendRequested,
    StartRequested,
    StopRequested,
)
from phoenixd.core.fleet import Fleet
from phoenixd.core.step import step
from tests.core.behind import NEW, NOW, SPEC, R, S, told, world


def faced(*names: str, stranger: str = "") -> Fleet:
    """After a lost journal: agents that wait, and maybe one that lives and that nobody declares."""
    specs = tuple(replace(SPEC, name=name, autostart=True) for name in names)
    traces = [Trace(name) for name in names]
    if stranger:
        traces.append(Trace(stranger, None, "runs", NEW, NEW, 3))
    event = JournalBehind("it is lost", World("boot", 0, 5, tuple(traces)), specs)
    return step(Fleet(), event, NOW).fleet


def test_rows_are_numbered_anew_each_time_also_where_the_same_copy_comes_back_twice() -> None:
    """Who follows them knows those of the first time."""
    world, floors = World("boot", 0, 5), [0]
    for _ in range(3):
        faced = step(Fleet(), JournalBehind("it is lost", world, ()), NOW).fleet
        floors.append(first_row_after(faced.epoch))
        world = replace(world, epoch=faced.epoch)
    assert all(later - earlier >= ROW_GAP for earlier, later in pairwise(floors))
    # An agent may have written an epoch of any size, and readers of JSON have no more digits.
    assert first_row_after(2**60) + ROW_GAP // 10 < 2**53


@pytest.mark.parametrize(
    "order", [StartRequested("a"), StopRequested("a"), RestartRequested("a"), AgentWithdrawn("a")], ids=str
)
def test_what_an_operator_ordered_since_is_not_proposed_any_more(order: OperatorEvent) -> None:
    fleet = faced("a", "b", stranger="c")
    assert "waiting for you: a, b" in told(fleet)
    fleet = step(fleet, order, NOW).fleet
    assert "a" not in fleet.agents or fleet.agents["a"].found is None
    assert not any(item.kind == "recover" for name in fleet.agents if name != "b" for item in fleet.agents[name].items)
    assert "waiting for you: b, alive, and declared by nobody: c. Do: phoenixctl recover" in told(fleet)
    seen = World("boot", 0, 5, (Trace("c", None, "runs", NEW, NEW, 3),))
    fleet = step(fleet, AgentDeclared(replace(SPEC, name="c"), world=seen), NOW).fleet
    assert "waiting for you: b. Do: phoenixctl recover" in told(fleet)
    assert "nobody" not in told(fleet)
    wanted = {name: agent.desired for name, agent in fleet.agents.items() if name != "b"}
    after = step(fleet, RecoveryConfirmed(), NOW).fleet
    assert {name: agent.desired for name, agent in after.agents.items() if name != "b"} == wanted
    assert after.agents["b"].desired is Desired.RUNNING
    # Who decides on each of them has nothing left to confirm.
    assert told(step(fleet, StopRequested("b"), NOW).fleet) == told(after) == ""


def test_an_order_that_was_refused_settles_nothing() -> None:
    fleet = faced("a")
    refused = step(fleet, SendRequested("a", "hi", "m"), NOW)
    assert refused.refusal is not None
    assert refused.fleet == fleet


@pytest.mark.parametrize("start", [False, True])
@pytest.mark.parametrize(
    ("wish", "state", "desired"),
    [(None, Running, R), (Wish("running", 18), Running, R), (Wish("removed", 25), Running, R),
     (Wish("stopped", 25), Stopping, S)],
)  # fmt: skip
def test_promise_2_what_lives_is_adopted_when_it_is_declared_and_nothing_is_started_over_it(
    start: bool, wish: Wish | None, state: type[object], desired: Desired
) -> None:
    seen = world(Trace("a", wish, "runs", NEW, NEW, 3))
    result = step(Fleet(retired={"a": 7}), AgentDeclared(SPEC, start, seen), NOW)
    after = result.fleet.agents["a"]
    assert (type(after.state), after.desired, after.incarnation, after.found) == (state, desired, 7, None)
    assert after.run is not None
    assert after.run.run_id == NEW.run_id
    assert not any(isinstance(action, Spawn) for one in result.decisions for action in one.actions)
    dead = step(Fleet(), AgentDeclared(SPEC, world=world(Trace("a", wish, "idle", None, NEW, 3))), NOW)
    assert type(dead.fleet.agents["a"].state) is Stopped
