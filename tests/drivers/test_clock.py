"""F-HB-4: a deadline never passes while nobody was watching."""

from __future__ import annotations

import math
import random

import anyio
import pytest

from phoenixd.drivers.clock import TURN, SupervisedClock


class Hands:
    """The two clocks of a machine, moved by hand."""

    def __init__(self) -> None:
        self.monotonic = 1000.0
        self.wall = 1_800_000_000.0

    def pass_time(self, seconds: float) -> None:
        self.monotonic += seconds
        self.wall += seconds


def a_clock(hands: Hands, base: float = 50.0) -> SupervisedClock:
    return SupervisedClock(base, monotonic=lambda: hands.monotonic, wall=lambda: hands.wall)


def test_time_goes_on_from_the_base() -> None:
    hands = Hands()
    clock = a_clock(hands)
    hands.pass_time(12.5)

    assert clock.now().at == 62.5
    assert clock.now().wall == 1_800_000_012.5


@pytest.mark.parametrize("jump", [365 * 86400.0, -365 * 86400.0])
def test_f_hb_4_a_jump_of_the_wall_clock_moves_no_deadline(jump: float) -> None:
    hands = Hands()
    clock = a_clock(hands)
    hands.wall += jump
    hands.pass_time(1)

    assert clock.now().at == 51.0


def test_f_hb_4_a_span_in_which_we_were_stopped_is_not_counted() -> None:
    hands = Hands()
    clock = a_clock(hands)
    hands.pass_time(29)
    assert clock.now().at == 79.0
    hands.pass_time(3600)
    assert clock.now().at == 79.0
    assert clock.unwatched == 3600
    hands.pass_time(29)
    assert clock.now().at == 108.0


async def test_a_long_sleep_is_read_often_enough_to_be_counted_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    hands = Hands()
    clock = a_clock(hands, base=0.0)
    naps: list[float] = []

    async def sleep(seconds: float) -> None:
        naps.append(seconds)
        hands.pass_time(seconds)

    monkeypatch.setattr(anyio, "sleep", sleep)
    await clock.sleep_until(100.0)

    assert max(naps) <= TURN
    assert clock.now().at == 100.0
    assert clock.unwatched == 0.0


async def test_whenever_long_sleeps_began_they_read_the_clock_together(monkeypatch: pytest.MonkeyPatch) -> None:
    hands = Hands()
    clock, woken = a_clock(hands, base=4.0), list[float]()

    async def sleep(seconds: float) -> None:
        hands.pass_time(seconds)
        woken.append(clock.at())

    monkeypatch.setattr(anyio, "sleep", sleep)
    await clock.sleep_until(37.0)

    assert woken == [TURN, 2 * TURN, 37.0]


async def test_a_sleep_goes_on_by_the_span_that_was_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    hands = Hands()
    clock = a_clock(hands, base=0.0)
    stops = [0.0, 7200.0]

    async def sleep(seconds: float) -> None:
        hands.pass_time(seconds + (stops.pop() if stops else 0.0))

    monkeypatch.setattr(anyio, "sleep", sleep)
    await clock.sleep_until(60.0)

    assert hands.monotonic >= 1000.0 + 7200.0 + 60.0
    assert clock.now().at == 60.0


async def test_waiting_for_no_deadline_ends_by_cancellation_alone() -> None:
    clock = SupervisedClock()
    with anyio.move_on_after(0.05) as scope:
        await clock.sleep_until(math.inf)

    assert scope.cancelled_caught


async def test_a_past_deadline_returns_at_once() -> None:
    clock = SupervisedClock(base=10.0)
    with anyio.fail_after(60):
        await clock.sleep_until(9.0)


def test_each_reading_has_its_own_chance_and_nonce() -> None:
    clock = SupervisedClock()
    moments = [clock.now() for _ in range(100)]

    assert len({moment.nonce for moment in moments}) == 100
    assert len({moment.chance for moment in moments}) == 100
    assert all(0 <= moment.chance < 1 for moment in moments)
    assert SupervisedClock(dice=random.Random(7)).now().nonce == SupervisedClock(dice=random.Random(7)).now().nonce


def test_a_limit_that_every_sleep_would_break_is_refused() -> None:
    with pytest.raises(ValueError, match="lag_limit"):
        SupervisedClock(lag_limit=TURN)
