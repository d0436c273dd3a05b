"""An end that its exit code does not explain waits for a look at what the run has left, and is told in any case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import anyio
import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Stopped
from phoenixd.core.events import Event
from phoenixd.core.events.runs import AgentExited
from phoenixd.errors import TerminalFailed
from phoenixd.runtime.post_mortem import PostMortem
from tests.core.story import Story, claude
from tests.runtime.morgue import Morgue


class LookedAt:
    """A look that finds these words of an end."""

    def __init__(self, shown: str, is_due: bool = True, patience: float = 60.0) -> None:
        self.shown, self.is_due, self.patience, self.looks = shown, is_due, patience, 0

    def may_tell(self, agent: Agent, ended: AgentExited) -> bool:
        return self.is_due

    async def found(self, ended: AgentExited) -> tuple[Event, ...]:
        self.looks += 1
        await anyio.lowlevel.checkpoint()
        return (replace(ended, shown=self.shown),)


class Fails(LookedAt):
    """A look that finds nothing."""

    def __init__(self, fault: Exception | None, patience: float = 60.0) -> None:
        super().__init__("", patience=patience)
        self.fault = fault

    async def found(self, ended: AgentExited) -> tuple[Event, ...]:
        if self.fault is not None:
            raise self.fault
        await anyio.sleep_forever()
        return ()


async def test_an_end_is_told_with_what_the_first_look_finds_that_may_tell_more_of_it() -> None:
    other, first, second = LookedAt("other", is_due=False), LookedAt("first"), LookedAt("second")
    morgue = Morgue(Story(claude()).runs(), other, first, second)
    ended = morgue.end()

    assert await morgue.ends(ended)

    assert morgue.told == [replace(ended, shown="first")]
    assert (other.looks, first.looks, second.looks) == (0, 1, 0)


async def test_an_end_that_a_shim_says_twice_is_looked_into_and_told_once() -> None:
    look = LookedAt("why")
    morgue = Morgue(Story(claude()).runs(), look)
    ended = morgue.end()

    assert await morgue.ends(ended, ended)

    assert (look.looks, len(morgue.told)) == (1, 1)


async def test_an_end_that_is_said_again_once_it_was_told_is_told_again() -> None:
    """What was told is not saved yet, and may never be."""
    look, told = LookedAt("why"), list[Event]()
    morgue = Morgue(Story(claude()).runs())
    ended = morgue.end()
    async with anyio.create_task_group() as tasks:
        post_mortem = PostMortem(morgue.find, told.append, tasks, [look])
        for number in (1, 2):
            assert post_mortem.looks_into(ended)
            await anyio.wait_all_tasks_blocked()
            assert len(told) == number


@pytest.mark.parametrize(
    "fails",
    [
        lambda: Fails(None, patience=0.05),
        lambda: Fails(TerminalFailed("no server")),
        lambda: Fails(RuntimeError("what nobody thought of")),
    ],
    ids=["takes for ever", "tmux does not answer", "a fault in it"],
)
async def test_promise_1_a_look_that_comes_to_nothing_keeps_no_end_back(fails: Callable[[], Fails]) -> None:
    morgue = Morgue(Story(claude()).runs(), fails())
    ended = morgue.end()

    assert await morgue.ends(ended)

    assert morgue.told == [ended]


async def test_an_end_that_was_ordered_and_one_of_another_run_or_cause_wait_for_no_look() -> None:
    look = LookedAt("why")
    morgue = Morgue(Story(claude()).runs(), look)
    ended = morgue.end()
    assert not await morgue.ends(replace(ended, run_id="another"))
    assert not await morgue.ends(replace(ended, cause="terminal_lost"))

    morgue = Morgue(Story(claude()).runs(), look)
    ended = morgue.end()
    morgue.story.stop()
    assert not await morgue.ends(ended)
    assert isinstance(morgue.story.state, Stopped)
    assert not await morgue.ends(ended), "it is over"
    assert look.looks == 0


async def test_an_end_is_told_where_the_daemon_ends_while_it_is_looked_into() -> None:
    morgue = Morgue(Story(claude()).runs(), Fails(None))
    ended = morgue.end()
    async with anyio.create_task_group() as tasks:
        assert PostMortem(morgue.find, morgue.tell, tasks, morgue.looks).looks_into(ended)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()

    assert morgue.told == [ended]
