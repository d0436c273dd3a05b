"""What stops the program passes at once: in a run, in the clinic, and in a pause (C35, F-CL-10)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel

from phoenixd.clinic import recoverable_run
from tests.clinic.agents import Script, Watched, http, says


async def cancelled_at(reached: anyio.Event, work: Callable[[], Awaitable[Any]]) -> bool:
    """Run it, cancel it once it has reached its place, and say whether the cancellation came through."""
    came_through = False

    async def run() -> None:
        nonlocal came_through
        try:
            await work()
        except anyio.get_cancelled_exc_class():
            came_through = True
            raise

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await reached.wait()
        group.cancel_scope.cancel()
    return came_through


def for_ever(reached: anyio.Event) -> Callable[[list[ModelMessage], AgentInfo], Awaitable[ModelResponse]]:
    async def answers(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        reached.set()
        await anyio.sleep_forever()
        raise AssertionError

    return answers


async def test_c35_f_cl_10_in_a_run() -> None:
    reached, watched = anyio.Event(), Watched()
    agent = Script([]).agent()
    agent.model = FunctionModel(for_ever(reached))

    assert await cancelled_at(reached, lambda: recoverable_run(agent, "hello", config=watched.config()))
    assert (watched.slept, watched.cases) == ([], [])


async def test_c35_f_cl_10_in_a_pause() -> None:
    reached = anyio.Event()

    async def pausing() -> None:
        reached.set()
        await anyio.sleep_forever()

    model, watched = Script([http(529), says("too late")]), Watched(during=pausing)

    assert await cancelled_at(reached, lambda: recoverable_run(model.agent(), "hello", config=watched.config()))
    assert len(model.requests) == 1
    assert [case.outcome for case in watched.cases] == ["moot"], "it has neither held nor failed"


async def test_f_cl_10_in_the_clinic() -> None:
    reached, watched = anyio.Event(), Watched()
    model = Script([RuntimeError("unknown"), says("too late")])
    clinic = FunctionModel(for_ever(reached))

    assert await cancelled_at(
        reached, lambda: recoverable_run(model.agent(), "hello", clinic=clinic, config=watched.config())
    )
    assert len(model.requests) == 1


@pytest.mark.parametrize("stops", [KeyboardInterrupt, SystemExit, GeneratorExit])
async def test_c35_no_exception_that_stops_the_program_is_caught(stops: type[BaseException]) -> None:
    model, watched = Script([http(529), says("too late")]), Watched()

    async def pausing() -> None:
        await checkpoint()
        raise stops

    watched.during = pausing
    with pytest.raises(stops):
        await recoverable_run(model.agent(), "hello", config=watched.config())
    assert len(model.requests) == 1


async def test_a_run_that_the_program_itself_cancels_is_no_failure() -> None:
    model, watched = Script([RunCancelled("by a tool"), says("too late")]), Watched()

    with pytest.raises(RunCancelled) as passed:
        await recoverable_run(model.agent(), "hello", config=watched.config())

    assert (len(model.requests), watched.cases) == (1, [])
    assert not getattr(passed.value, "__notes__", [])
