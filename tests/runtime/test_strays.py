"""After a burst of deaths one sweep runs, and a shim reminds of its runs until what was found is saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import anyio
import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.events.aftermath import CleanedUp
from phoenixd.ports.processes import EndedRun, Fenced
from phoenixd.runtime.strays import GATHER, LOOK_AGAIN, Strays, _ended
from tests.clocks import FastClock
from tests.core.story import Story
from tests.waiting import eventually

RUN_3 = {"incarnation": 3, "run_id": "run-3"}
RUN_4 = {"incarnation": 4, "run_id": "run-4"}


class HeldClock(FastClock):
    """Sleeps until a test lets go."""

    def __init__(self) -> None:
        super().__init__()
        self.until: list[float] = []
        self.passed = anyio.Event()

    async def sleep_until(self, at: float) -> None:
        self.until.append(at - self.reading)
        await self.passed.wait()
        self.passed = anyio.Event()
        await super().sleep_until(at)


@dataclass
class Sweeper:
    finds: dict[EndedRun, Fenced] = field(default_factory=dict)
    passes: list[set[EndedRun]] = field(default_factory=list)
    fault: OSError | None = None

    async def sweep(self, runs: Iterable[EndedRun]) -> Mapping[EndedRun, Fenced]:
        self.passes.append(set(runs))
        if self.fault is not None:
            raise self.fault
        return {run: self.finds[run] for run in runs if run in self.finds}


class Yard:
    def __init__(self) -> None:
        self.clock = HeldClock()
        self.sweeper = Sweeper()
        self.living: dict[str, Agent] = {}
        self.told: list[tuple[Event, Callable[[], None] | None]] = []
        self.swept: list[tuple[str, tuple[str, ...]]] = []
        self.strays = Strays(
            self.sweeper,
            self.clock,  # type: ignore[arg-type]
            self.living.get,
            lambda event, saved: self.told.append((event, saved)),
            lambda agent, run_ids: self.swept.append((agent, run_ids)),
        )


async def test_a_burst_of_deaths_is_swept_for_in_one_pass_a_second_later() -> None:
    yard = Yard()
    names = [f"a{number}" for number in range(100)]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(yard.strays.run)
        for name in names:
            yard.strays.hear(name, [RUN_3])
            yard.strays.hear(name, [RUN_3, RUN_4])
        await eventually(lambda: yard.clock.until == [GATHER])
        assert yard.sweeper.passes == []
        yard.clock.passed.set()
        await eventually(lambda: len(yard.swept) == 100)
        tasks.cancel_scope.cancel()
    assert yard.sweeper.passes == [
        {EndedRun(name, 3, "run-3") for name in names} | {EndedRun(n, 4, "run-4") for n in names}
    ]
    assert {(agent, frozenset(run_ids)) for agent, run_ids in yard.swept} == {
        (name, frozenset({"run-3", "run-4"})) for name in names
    }
    assert yard.told == []


async def test_what_was_ended_is_told_and_the_shim_hears_of_it_once_that_is_saved() -> None:
    yard = Yard()
    yard.sweeper.finds = {EndedRun("a", 3, "run-3"): Fenced(("17 tmux", "18 sleep"), (19,))}
    yard.strays.hear("a", [RUN_3, RUN_4])
    await yard.strays.sweep()
    ((event, saved),) = yard.told
    assert isinstance(event, CleanedUp)
    assert (event.agent, event.incarnation, event.occasion, event.remaining) == ("a", 3, "after run 3", (19,))
    assert event.killed[0] == "17 tmux: started for run 3 from outside of its tree"
    assert yard.swept == [("a", ("run-4",))]
    assert saved is not None
    saved()
    assert yard.swept[1:] == [("a", ("run-3",))]


async def test_promise_2_a_run_that_lives_is_not_swept_for_whoever_says_that_it_ended() -> None:
    yard = Yard()
    story = Story()
    story.start()
    living = story.run
    yard.living["a"] = story.agent
    yard.strays.hear("a", [{"incarnation": living.incarnation, "run_id": living.run_id}, RUN_3])
    await yard.strays.sweep()
    assert yard.sweeper.passes == [{EndedRun("a", 3, "run-3")}]
    del yard.living["a"]
    await yard.strays.sweep()
    assert yard.sweeper.passes[1:] == [{EndedRun("a", living.incarnation, living.run_id)}]


async def test_a_look_that_failed_is_repeated_and_a_new_death_does_not_wait_for_it() -> None:
    yard = Yard()
    yard.sweeper.fault = OSError(24, "too many open files")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(yard.strays.run)
        yard.strays.hear("a", [RUN_3])
        await eventually(lambda: yard.clock.until == [GATHER])
        yard.clock.passed.set()
        await eventually(lambda: yard.clock.until == [GATHER, LOOK_AGAIN])
        assert yard.swept == []
        yard.sweeper.fault = None
        yard.strays.hear("b", [RUN_4])
        await eventually(lambda: yard.clock.until == [GATHER, LOOK_AGAIN, GATHER])
        yard.clock.passed.set()
        await eventually(lambda: len(yard.swept) == 2)
        tasks.cancel_scope.cancel()
    assert yard.sweeper.passes[1] == {EndedRun("a", 3, "run-3"), EndedRun("b", 4, "run-4")}


@pytest.mark.parametrize(
    "told", [None, 7, "x", {}, [None], [{}], [{"incarnation": True, "run_id": "x"}], [{"incarnation": 1, "run_id": ""}]]
)
async def test_what_is_none_of_a_shims_words_is_left_out(told: object) -> None:
    yard = Yard()
    yard.strays.hear("a", told)
    await yard.strays.sweep()
    assert yard.sweeper.passes == []


def test_of_what_a_shim_says_32_runs_are_believed_each_with_a_name_of_64_characters_at_most() -> None:
    told = [{"incarnation": number, "run_id": f"run-{number}"} for number in range(33)]
    assert _ended(told) == [(number, f"run-{number}") for number in range(32)]
    for run_id, is_one in (("x" * 64, True), ("x" * 65, False), ("", False), (7, False), (None, False)):
        assert _ended([{"incarnation": 3, "run_id": run_id}]) == ([(3, run_id)] if is_one else [])
    for incarnation in (True, "3", None):
        assert _ended([{"incarnation": incarnation, "run_id": "run-3"}]) == []
    assert _ended(["run-3", *told[3:4]]) == [(3, "run-3")]
    for nothing in (None, {"incarnation": 3}, "run-3"):
        assert _ended(nothing) == []
