"""What becomes of actions: what is told of them, and of those that the performer cannot take."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import anyio

from phoenixd.core.actions import Deliver, Kill, LookAtScreen, PlantCodes, ReadSeed, SeeAttendance, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.events import Event
from phoenixd.core.events.resonance import CodesPlanted, PlantingFailed, SeedRead
from phoenixd.core.events.runs import NotDelivered
from phoenixd.planting import Marker, Planting
from phoenixd.runtime.performer import MOST_TEXTS, PREPARED_AT_ONCE, Performer
from tests.core.story import Story, claude
from tests.waiting import eventually

PLANTED = CodesPlanted("a", 1, Planting(Marker("the weight of the morning", "7f3a9c")), 5.0)
READ = SeedRead("a", 1, words="It builds the shop.")


def test_a_lane_takes_so_many_texts_and_answers_for_each_that_is_too_much_and_takes_orders_all_the_same() -> None:
    nothing = cast(Any, None)
    told = list[Event]()
    performer = Performer(nothing, nothing, told.append, nothing, nothing, nothing)
    for number in range(MOST_TEXTS + 2):
        performer.submit(Deliver("a", 1, f"m{number}", "hello"))
    performer.submit(Deliver("b", 1, "other", "hello"))
    performer.submit(Kill("a", 1))
    assert [(one.agent, one.message_id) for one in told if isinstance(one, NotDelivered)] == [
        ("a", f"m{MOST_TEXTS}"),
        ("a", f"m{MOST_TEXTS + 1}"),
    ]
    assert len(told) == 2


async def test_looks_at_a_screen_that_does_not_answer_pile_up_before_no_order() -> None:
    """A question that is doubted has its screen looked at several times a second, and who types keeps it doubted."""
    story, nothing = Story(claude()).runs(), cast(Any, None)
    done = list[str]()

    async def capture(agent: str) -> str:
        done.append("look")
        await anyio.sleep_forever()
        raise AssertionError

    outside = cast(Any, SimpleNamespace(shims=None, terminal=SimpleNamespace(capture=capture)))
    performer = Performer(outside, story.fleet.agents.get, nothing, nothing, nothing, nothing)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(performer.run)
        performer.submit(LookAtScreen("a", 1))
        await eventually(lambda: done == ["look"], what="the first look hangs")
        for _ in range(1000):
            performer.submit(LookAtScreen("a", 1))
        performer.submit(SeeAttendance("a", 1))
        performer.submit(LookAtScreen("a", 1))
        waiting = list(performer._lanes["a screen"])
        tasks.cancel_scope.cancel()

    assert waiting == [LookAtScreen("a", 1), SeeAttendance("a", 1), LookAtScreen("a", 1)]


class Papers:
    """The papers of markers; they keep nothing."""

    async def plant(self, agent: Agent, action: PlantCodes) -> CodesPlanted:
        return PLANTED

    async def read_seed(self, agent: Agent, action: ReadSeed) -> SeedRead:
        return READ


async def told_of(markers: Papers | None, *actions: PlantCodes | ReadSeed) -> list[Event]:
    """What the performer tells, up to what comes of the last action, which is of a lane in order."""
    story, nothing, told = Story(claude()).runs(), cast(Any, None), list[Event]()
    outside = cast(Any, SimpleNamespace(shims=None, markers=markers))
    performer = Performer(outside, story.fleet.agents.get, told.append, nothing, nothing, nothing)
    for action in actions:
        performer.submit(action)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(performer.run)
        await eventually(lambda: not performer._lanes, what="the lane is empty")
        tasks.cancel_scope.cancel()
    return told


async def test_what_came_of_an_agents_codes_and_of_its_seed_is_told() -> None:
    assert await told_of(Papers(), PlantCodes("a", 1, "start"), ReadSeed("a", 1)) == [PLANTED, READ]


async def test_codes_of_a_run_that_is_over_are_not_planted() -> None:
    assert await told_of(Papers(), PlantCodes("a", 2, "start")) == []


async def test_where_no_papers_are_kept_no_codes_can_be_planted_and_that_is_told() -> None:
    told = await told_of(None, PlantCodes("a", 1, "start"))
    assert told == [PlantingFailed("a", 1, "no papers of markers are kept here")]


async def test_of_many_starts_the_first_are_prepared_and_a_fault_in_that_ends_nothing() -> None:
    story, nothing = Story(claude()).runs(), cast(Any, None)
    asked: list[str] = []

    class Starter:
        async def prepare(self, agent: Agent, spawn: Spawn, hello: object, epoch: int) -> None:
            asked.append(f"{spawn.run_id} with {epoch}")
            raise ValueError("a fault of ours")

    shims = SimpleNamespace(linked=lambda agent: SimpleNamespace(run=None))
    outside = cast(Any, SimpleNamespace(shims=shims, starter=Starter()))
    performer = Performer(outside, lambda name: story.fleet.agents["a"], nothing, nothing, nothing, nothing)
    spawns = [Spawn(f"a{number}", 1, f"run-{number}", Mode.FRESH, "s", PromptKind.GOAL) for number in range(5)]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(performer.run)
        await eventually(lambda: performer._tasks is not None, what="it runs")
        performer.prepare([Kill("a", 1), *spawns], 7)
        await eventually(lambda: len(asked) == PREPARED_AT_ONCE, what="the first ones are prepared")
        tasks.cancel_scope.cancel()

    assert asked == ["run-0 with 7", "run-1 with 7"]
