"""While an operator is answered a flood waits, and for no longer than it has time of its own."""

from __future__ import annotations

from phoenixd.runtime.floodgate import LEAST, MOST, Floodgate
from tests.waiting import eventually


class Watch:
    """A clock that stands where it is put, and what was told."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.told: list[bool] = []
        self.gate = Floodgate(self.told.append, lambda: self.now)


async def test_it_is_shut_until_everybody_who_asks_is_answered() -> None:
    watch = Watch()
    watch.gate.enter("one")
    watch.gate.enter("two")
    watch.gate.leave("one")
    watch.gate.leave("one")
    assert watch.told == [True]
    assert watch.gate.is_shut
    watch.gate.leave("two")
    watch.gate.leave("nobody")
    assert watch.told == [True, False]
    assert not watch.gate.is_shut


async def test_what_is_asked_for_long_holds_up_no_agent() -> None:
    watch = Watch()
    watch.gate.enter("a stream")
    await eventually(lambda: watch.told == [True, False], what="it opens by itself")
    watch.now += MOST
    watch.gate.enter("an order")
    watch.gate.leave("a stream")
    assert watch.gate.is_shut, "who had his time counts no more"
    watch.gate.leave("an order")
    assert watch.told == [True, False, True, False]


async def test_however_much_is_asked_a_flood_has_as_much_time_as_requests_had() -> None:
    watch = Watch()
    watch.gate.enter("one")
    watch.now += MOST
    watch.gate.leave("one")
    watch.gate.enter("two")
    assert watch.told == [True, False], "no time is left"
    watch.now += LEAST / 2
    watch.gate.enter("three")
    assert watch.told == [True, False]
    watch.now += LEAST
    watch.gate.enter("four")
    assert watch.told == [True, False, True], "as much as was given back meanwhile"
    await eventually(lambda: watch.told[-1] is False, what="which is soon over")
    watch.now += 100 * MOST
    watch.gate.enter("five")
    watch.now += MOST
    watch.gate.leave("five")
    watch.gate.enter("six")
    assert watch.told == [True, False, True, False, True, False], "no more is saved up than MOST"
