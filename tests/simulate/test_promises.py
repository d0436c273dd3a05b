"""The checks of a simulation see what a daemon forgets, and blame no daemon that obeys the newest order."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import anyio
import pytest

from phoenixd.core.agent.state import Desired
from phoenixd.core.fleet import Fleet
from tests.agents import an_agent
from tests.simulate.host import Host
from tests.simulate.promises import Broken, Promises
from tests.simulate.virtual_loop import VirtualLoop

RUNS = replace(an_agent("a"), desired=Desired.RUNNING)


async def _promises() -> Promises:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return Promises(Host(loop, "promises"))


@pytest.fixture
def promises() -> Promises:
    return anyio.run(_promises, backend_options={"loop_factory": VirtualLoop})


def test_promise_3_an_agent_that_runs_after_its_stop_was_acknowledged_is_a_breach(promises: Promises) -> None:
    place = promises.operator_asks("a", wants_running=False)
    promises.operator_was_answered("a", wants_running=False, last_incarnation=0, place=place)

    with pytest.raises(Broken, match="acknowledged stop is forgotten"):
        promises.turn_saved(Fleet(), [], [RUNS], is_behind=True)


def test_promise_3_a_stop_that_is_answered_after_a_start_was_asked_for_binds_nothing(promises: Promises) -> None:
    """While the journal dawdles, both wait for the same commit; the newest order is what the agent obeys."""
    stop = promises.operator_asks("a", wants_running=False)
    start = promises.operator_asks("a", wants_running=True)
    promises.operator_was_answered("a", wants_running=False, last_incarnation=0, place=stop)
    promises.operator_was_answered("a", wants_running=True, last_incarnation=0, place=start)

    promises.turn_saved(Fleet(), [], [RUNS], is_behind=True)


def test_promise_3_a_stop_after_a_start_binds(promises: Promises) -> None:
    start = promises.operator_asks("a", wants_running=True)
    stop = promises.operator_asks("a", wants_running=False)
    promises.operator_was_answered("a", wants_running=True, last_incarnation=0, place=start)
    promises.operator_was_answered("a", wants_running=False, last_incarnation=0, place=stop)

    with pytest.raises(Broken, match="acknowledged stop is forgotten"):
        promises.turn_saved(Fleet(), [], [RUNS], is_behind=True)
