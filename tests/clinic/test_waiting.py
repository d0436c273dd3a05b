"""Pauses: with jitter, bounded, and never shorter than the provider asked for (C28)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.exceptions import FallbackExceptionGroup, ModelHTTPError

from phoenixd.clinic import Pauses, recoverable_run
from phoenixd.clinic.waiting import asked_for, pause
from tests.clinic.agents import Script, Watched, http, says

ODD: list[Any] = ["nan", "inf", "-5", "soon", "", "1e400"]


@given(attempt=st.integers(0, 10_000), draw=st.floats(0, 1))
def test_a_pause_is_between_nothing_and_the_longest(attempt: int, draw: float) -> None:
    seconds = pause(Pauses(), attempt, http(500), False, lambda: draw)

    assert 0 <= seconds <= 60
    assert seconds <= 2.0 ** min(attempt, 30)


@given(asked=st.floats(0, 300), draw=st.floats(0, 1), attempt=st.integers(0, 50))
def test_it_is_never_shorter_than_the_provider_asked_for(asked: float, draw: float, attempt: int) -> None:
    seconds = pause(Pauses(), attempt, http(429, retry_after=str(asked)), True, lambda: draw)

    assert asked_for(http(429, retry_after=str(asked))) is None or seconds >= int(asked)


def test_retry_after_in_seconds_as_a_date_and_of_a_group() -> None:
    assert asked_for(http(429, retry_after="17")) == 17
    later = datetime.fromtimestamp(datetime.now(UTC).timestamp() + 90, UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    assert 0 < (asked_for(http(503, retry_after=later)) or 0) <= 90
    assert asked_for(FallbackExceptionGroup("all", [http(429, retry_after="5"), http(429, retry_after="9")])) == 9
    assert asked_for(http(500)) is None


@pytest.mark.parametrize("told", ODD)
def test_a_time_that_is_none_is_ignored(told: str) -> None:
    assert asked_for(http(429, retry_after=told)) is None


async def test_a_rate_limit_without_a_time_is_a_minute() -> None:
    watched = Watched()

    await recoverable_run(Script([http(429), says("back")]).agent(), "hello", config=watched.config())

    assert watched.slept == [60.5]


async def test_each_pause_doubles_its_span() -> None:
    model, watched = Script([http(500)] * 5 + [says("back")]), Watched()

    await recoverable_run(model.agent(), "hello", 5, config=watched.config())

    assert watched.slept == [0.5, 1, 2, 4, 8]


async def test_a_provider_that_asks_for_too_long_is_not_waited_for() -> None:
    model, watched = Script([http(429, retry_after="3600"), says("back")]), Watched()

    with pytest.raises(ModelHTTPError) as failed:
        await recoverable_run(model.agent(), "hello", config=watched.config())

    assert watched.slept == []
    assert "asks to wait for 3600 s, at most 300 s are waited" in "".join(failed.value.__notes__)


@pytest.mark.parametrize("wrong", [{"first": -1}, {"longest": float("nan")}, {"rate_limit": float("inf")}])
def test_pauses_that_are_none_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="give seconds"):
        Pauses(**wrong)
