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
from tests.simulate.simulation import Simulation, fleet_of
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


@pytest.mark.parametrize(("goes_on", "is_breach"), [(False, True), (True, False)])
def test_f_proc_26_a_text_is_a_breach_before_a_limits_time_unless_its_model_answers_again(
    *, goes_on: bool, is_breach: bool
) -> None:
    """Somebody types at its terminal, and it works: then nothing is left to be waited for."""

    async def main() -> None:
        simulation = Simulation("limited", {"agent-00": fleet_of(1)["agent-00"]})
        host = simulation.host
        host.is_calm = host.is_plain = True

        async def story() -> None:
            await anyio.sleep(10)
            run = host.shims["agent-00"].run
            assert run is not None
            run.program._limited_until = host.now + 3600.0
            if goes_on:
                run.program._turn("the next task")
            if is_breach:
                with pytest.raises(Broken, match="is prompted, and its limit ends"):
                    run.program.prompt("go on")
                host.promises.breaches.clear()
            else:
                run.program.prompt("go on")

        await simulation.play(story)

    anyio.run(main, backend_options={"loop_factory": VirtualLoop})


def test_promise_3_a_stop_after_a_start_binds(promises: Promises) -> None:
    start = promises.operator_asks("a", wants_running=True)
    stop = promises.operator_asks("a", wants_running=False)
    promises.operator_was_answered("a", wants_running=True, last_incarnation=0, place=start)
    promises.operator_was_answered("a", wants_running=False, last_incarnation=0, place=stop)

    with pytest.raises(Broken, match="acknowledged stop is forgotten"):
        promises.turn_saved(Fleet(), [], [RUNS], is_behind=True)
