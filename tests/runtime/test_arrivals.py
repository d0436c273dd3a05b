"""What is a flood of signs of life, and what is not: only a flood waits for more to come."""

from __future__ import annotations

import random

import anyio
import pytest

from phoenixd.core.hooks import PromptSubmitted
from phoenixd.runtime.arrivals import AT_ONCE, FLOOD, Arrivals, Pace, Waiting
from tests.start.places import HandClock


def floods(moments: list[float], each: int = 1) -> list[float]:
    """The moments at which it was a flood, with `each` signs at every moment."""
    pace, found = Pace(0.0), []
    for moment in moments:
        pace.heard(each, moment)
        if pace.is_flood:
            found.append(moment)
    return found


def test_a_hundred_a_second_at_random_moments_are_told_as_they_come() -> None:
    dice, moment, moments = random.Random(5), 0.0, list[float]()
    for _ in range(6000):
        moment += dice.expovariate(FLOOD / 2)
        moments.append(moment)
    assert len(floods(moments)) <= 6, "one in a thousand, where chance has it"


def test_a_burst_is_a_flood_for_as_long_as_it_is_one() -> None:
    assert floods([1.0], each=AT_ONCE) == [1.0]
    assert floods([1.0], each=AT_ONCE - 1) == []
    pace = Pace(0.0)
    pace.heard(100 * AT_ONCE, 1.0)
    pace.heard(0, 1.0 + AT_ONCE / FLOOD - 0.001)
    assert pace.is_flood
    pace.heard(0, 1.0 + AT_ONCE / FLOOD + 0.001)
    assert not pace.is_flood, "however many they were"


def test_a_thousand_a_second_are_a_flood_whether_each_has_a_turn_or_ten_together() -> None:
    """Few in a turn do not make it none: a turn for each few is what costs."""
    one_by_one = [number / 1000 for number in range(1, 1001)]
    assert floods(one_by_one)[0] <= 0.03
    assert len(floods(one_by_one)) > 970
    ten_together = [number / 100 for number in range(1, 101)]
    assert len(floods(ten_together, each=10)) > 95


async def test_what_comes_once_a_burst_is_over_waits_for_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though nothing was stepped since, by which it could have been seen."""
    monkeypatch.setattr("phoenixd.runtime.arrivals.SPACING", 3600.0)
    clock = HandClock(0.0)
    arrivals = Arrivals(clock, lambda: False)
    arrivals.stepped(AT_ONCE)
    arrivals.put(Waiting(PromptSubmitted("a", 1)))
    with anyio.move_on_after(0.01) as patience:
        await arrivals.gather()
    assert patience.cancelled_caught, "it is one still"

    clock.wall = 1.5 / FLOOD
    with anyio.fail_after(60):
        await arrivals.gather()
