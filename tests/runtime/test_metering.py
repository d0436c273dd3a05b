"""Contexts are read soon after something was heard of an agent, and never else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import EvidenceSeen, UsageSeen
from phoenixd.core.hooks import HOOKS
from phoenixd.core.moment import Moment
from phoenixd.documents.status_line import StatusLine
from phoenixd.documents.transcript import Used
from phoenixd.gathered import GATHER
from phoenixd.runtime.metering import Metering
from phoenixd.side_by_side import AT_ONCE
from tests.core.story import Story, claude
from tests.waiting import eventually


class Hands:
    """A clock that only moves by hand."""

    def __init__(self) -> None:
        self.reading = 100.0
        self.sleeps: list[tuple[float, anyio.Event]] = []

    def at(self) -> float:
        return self.reading

    def now(self) -> Moment:
        return Moment(self.reading, self.reading)

    async def sleep_until(self, at: float) -> None:
        due = anyio.Event()
        self.sleeps.append((at, due))
        await due.wait()

    def advance(self, seconds: float) -> None:
        self.reading += seconds
        due = [one for one in self.sleeps if one[0] <= self.reading]
        self.sleeps = [one for one in self.sleeps if one[0] > self.reading]
        for _, event in due:
            event.set()


@dataclass
class House:
    """One agent, whose transcript and status line say what a test wants."""

    story: Story = field(default_factory=lambda: Story(claude()).works())  # type: ignore[arg-type, return-value]
    clock: Hands = field(default_factory=Hands)
    used: Used | None = None
    line: StatusLine | None = None
    looks: int = 0
    told: list[UsageSeen] = field(default_factory=list)
    fault: Exception | None = None

    def __post_init__(self) -> None:
        house: Any = self
        self.metering = Metering(self.find, self.tell, self.clock, house, house, lambda: [self.story.agent])

    def find(self, name: str) -> Agent | None:
        return self.story.fleet.agents.get(name)

    def tell(self, event: Event) -> None:
        assert isinstance(event, UsageSeen)
        self.told.append(event)
        self.story.tell(event)

    def usage_now(self, agent: Agent) -> Used | None:
        self.looks += 1
        if self.fault is not None:
            raise self.fault
        return self.used

    def read(self, agent: str, incarnation: int) -> StatusLine | None:
        return self.line

    def hold(self, tokens: int, window: int | None = None) -> None:
        self.used = Used(f"r-{tokens}", tokens, 0, 0, 0, "opus", 1.7e9, window)

    async def look(self, looks: int) -> None:
        """Let time pass until there were this many looks."""

        def has_looked() -> bool:
            if self.looks < looks:
                self.clock.advance(GATHER)
            return self.looks >= looks

        await eventually(has_looked, 60)


@contextmanager
def _cancelled(scope: anyio.CancelScope) -> Iterator[None]:
    try:
        yield
    finally:
        scope.cancel()


async def test_a_living_agent_is_looked_at_when_the_daemon_begins_and_an_idle_one_never_again() -> None:
    house = House()
    house.hold(50_000)
    async with anyio.create_task_group() as tasks:
        with _cancelled(tasks.cancel_scope):
            tasks.start_soon(house.metering.run)
            await house.look(1)
            # The look reads in a thread, and tells after it.
            await eventually(lambda: house.told)
            house.clock.advance(3600)
            await anyio.wait_all_tasks_blocked()
            # Once more after the moment in which it was heard of, and nobody is woken from then on.
            assert house.looks <= 2
            assert house.clock.sleeps == []
    assert house.told[-1].tokens == 50_000


async def test_e17_many_hooks_of_a_moment_are_one_look_and_the_last_one_comes_after_the_last_hook() -> None:
    house = House()
    async with anyio.create_task_group() as tasks:
        with _cancelled(tasks.cancel_scope):
            tasks.start_soon(house.metering.run)
            await house.look(1)
            await anyio.wait_all_tasks_blocked()
            house.clock.advance(10)
            await anyio.wait_all_tasks_blocked()
            before = house.looks
            for _ in range(100):
                house.metering.heard("a", "tool-end", {})
            await anyio.wait_all_tasks_blocked()
            house.clock.advance(GATHER - 0.1)
            house.metering.heard("a", "stop", {})
            house.clock.advance(0.1)
            await eventually(lambda: house.looks == before + 1, 60)
            # The transcript is written a moment after the hook.
            house.hold(60_000)
            await anyio.wait_all_tasks_blocked()
            house.clock.advance(GATHER)
            await eventually(lambda: house.looks == before + 2 and house.told and house.told[-1].tokens == 60_000, 60)
            await anyio.wait_all_tasks_blocked()
            assert (house.looks, house.clock.sleeps) == (before + 2, [])


async def test_e17_the_look_comes_one_second_after_the_hook() -> None:
    house = House()
    async with anyio.create_task_group() as tasks:
        with _cancelled(tasks.cancel_scope):
            tasks.start_soon(house.metering.run)
            house.metering.heard("a", "stop", {})
            await eventually(lambda: bool(house.clock.sleeps), 60)
            assert [at - house.clock.at() for at, _ in house.clock.sleeps] == [1.0]


async def test_e17_a_look_before_a_task_waits_for_nothing_and_its_fault_is_nobodys() -> None:
    house = House()
    house.hold(90_000)
    await house.metering.look_now("a")
    assert (house.clock.reading, house.told[-1].tokens) == (100.0, 90_000)
    house.fault = OSError("stale handle")
    await house.metering.look_now("a")


@pytest.mark.parametrize("kind", sorted(HOOKS))
async def test_e17_each_hook_of_the_main_thread_is_a_reason_to_look_also_that_of_a_subagents_start(kind: str) -> None:
    """It is to be known how full the context is before and after whatever is large in it."""
    house = House()
    house.metering.heard("a", kind, {"tool_name": "Task"} if kind == "tool-start" else {})

    assert house.metering._heard_of._waiting


async def test_a_subagents_hooks_are_no_reason_to_look() -> None:
    house = House()
    house.metering.heard("a", "tool-end", {"agent_id": "sub"})
    house.metering.seen(EvidenceSeen("a", 1, "heartbeat"))
    assert not house.metering._heard_of._waiting
    house.metering.seen(EvidenceSeen("a", 1, "transcript"))
    assert list(house.metering._heard_of._waiting) == ["a"]


async def test_a_status_line_is_told_when_it_changes_and_tells_of_its_own_session_alone() -> None:
    house = House()
    session_id = house.story.run.session_id
    house.line = StatusLine(session_id, "opus", 200_000)
    for _ in range(3):
        await house.metering.look("a")
    assert [(one.source, one.limit, one.model) for one in house.told] == [("status line", 200_000, "opus")]
    house.line = StatusLine("another", "opus", 1_000_000)
    await house.metering.look("a")
    assert house.story.agent.meter.status_line == 200_000
    house.line = replace(house.line, session_id=None, window=None, problem="no JSON")
    await house.metering.look("a")
    assert house.story.agent.meter.doubt == "no JSON"


async def test_after_a_compaction_unknown_is_told_once() -> None:
    house = House()
    await house.metering.look("a")
    assert house.told == [], "nothing was known, and nothing is"
    house.hold(50_000, window=190_000)
    await house.metering.look("a")
    house.used = None
    await house.metering.look("a")
    await house.metering.look("a")
    assert [one.tokens for one in house.told] == [50_000, None]
    assert house.story.agent.meter.rollout == 190_000


async def test_a_fault_in_reading_costs_that_look_alone() -> None:
    house = House(fault=ValueError("hostile"))
    async with anyio.create_task_group() as tasks:
        with _cancelled(tasks.cancel_scope):
            tasks.start_soon(house.metering.run)
            await house.look(1)
            house.fault = None
            house.hold(50_000)
            house.metering.note("a")
            await house.look(house.looks + 1)
            await eventually(lambda: bool(house.told), 60)


async def test_nothing_is_read_of_an_agent_without_a_run() -> None:
    house = House()
    house.hold(1)
    house.story.stop()
    house.story.exited(143)
    await house.metering.look("nobody")
    await house.metering.look("a")
    assert (house.looks, house.told) == (0, [])


async def test_an_agent_whose_disk_hangs_keeps_no_other_context_from_being_read(tmp_path: Path) -> None:
    """Else no handoff of any orchestrator begins any more."""
    house, looked = House(), list[str]()
    hung = [f"hung-{number}" for number in range(2 * AT_ONCE)]
    for name in hung:
        os.mkfifo(tmp_path / name)
    agents = {name: replace(house.story.agent, spec=replace(house.story.agent.spec, name=name)) for name in hung}

    def usage_now(agent: Agent) -> Used | None:
        looked.append(agent.name)
        return Used((tmp_path / agent.name).read_text(), 1, 0, 0, 0, "opus", 1.7e9) if agent.name in agents else None

    house.usage_now = usage_now  # type: ignore[method-assign]
    house.find = lambda name: agents.get(name) or house.story.agent  # type: ignore[method-assign]
    house.__post_init__()

    def again(looks: int) -> Callable[[], bool]:
        def is_there() -> bool:
            house.clock.advance(GATHER)
            house.metering.note("a")
            house.metering.note("hung-0")
            return looked.count("a") >= looks

        return is_there

    async with anyio.create_task_group() as tasks:
        with _cancelled(tasks.cancel_scope):
            tasks.start_soon(house.metering.run)
            for name in hung:
                house.metering.note(name)
            await eventually(again(1), 60, "the one behind all that hang is looked at")
            await eventually(again(3), 60, "it is looked at again")
            assert looked.count("hung-0") == 1

            os.close(os.open(tmp_path / "hung-0", os.O_RDWR | os.O_NONBLOCK))
            await eventually(lambda: looked.count("hung-0") == 2, 60, "what was heard meanwhile is a reason to look")
    for name in hung:
        os.close(os.open(tmp_path / name, os.O_RDWR | os.O_NONBLOCK))
