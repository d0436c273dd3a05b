"""Promise 9: which journal is behind, and what moves the epoch by which that is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.behind.verdicts import lag
from phoenixd.core.behind.world import Trace, Wish, World
from phoenixd.core.events.fleet import EpochBegun, Tick
from phoenixd.core.events.orders import StartRequested
from phoenixd.core.fleet import Fleet
from phoenixd.core.step import step
from tests.core.behind import NEW, NOW, OLD, agent

PAST, PAST_NEW = replace(OLD, epoch=0), replace(NEW, epoch=0)
LAGS = [
    ("as it was", World("b", 5, 5, (Trace("a", Wish("stopped", 5), "idle", None, PAST, 2),)), False),
    ("of an older version", World("b", 0, 0, (Trace("a", None, "idle", None, PAST, 2),)), False),
    ("of an older version, a run more", World("b", 0, 0, (Trace("a", None, "runs", PAST_NEW, PAST_NEW, 3),)), True),
    ("behind the file", World("b", 4, 5, ()), True),
    ("behind a wish", World("b", 4, 4, (Trace("a", Wish("stopped", 5)),)), True),
    ("behind a run", World("b", 4, 4, (Trace("a", None, "runs", replace(OLD, epoch=5), PAST, 2),)), True),
    ("behind what a shim was told", World("b", 4, 4, (Trace("a", None, "idle", None, OLD, 2, told=5),)), True),
    ("behind a run that ended", World("b", 4, 4, (Trace("a", None, "idle", None, replace(OLD, epoch=5), 2),)), True),
    ("ahead, as after a kill before the epoch", World("b", 6, 5, (Trace("a", Wish("running", 5)),)), False),
    ("salvaged, and an agent lacks", World("b", 5, 5, (), is_damaged=True), True),
]


@pytest.mark.parametrize(("seen", "is_behind"), [one[1:] for one in LAGS], ids=[one[0] for one in LAGS])
def test_promise_9_a_journal_is_old_only_if_it_is_behind(seen: World, is_behind: bool) -> None:
    known = {"a": agent()}
    assert (lag(seen, known, {}, {"a", "b"} if seen.is_damaged else {"a"}) is not None) is is_behind


def test_a_wish_that_was_left_by_a_removal_is_no_news_and_one_without_an_agent_is() -> None:
    left = World("b", 5, 5, (Trace("a", Wish("stopped", 4), "none", None, PAST, 2),))
    assert lag(left, {}, {"a": 2}, set()) is None
    assert lag(left, {}, {"a": 2}, {"a"}) is not None
    assert lag(left, {}, {}, set()) is not None


def test_the_epoch_moves_with_orders_and_starts_and_with_nothing_else() -> None:
    fleet = step(Fleet(), EpochBegun(4), NOW).fleet
    assert fleet.epoch == 5
    fleet = replace(fleet, agents={"a": agent()})
    assert step(fleet, Tick(), NOW).fleet.epoch == 5
    started = step(fleet, StartRequested("a"), NOW)
    assert started.fleet.epoch == 6
    assert step(started.fleet, Tick(), NOW).fleet.epoch == 6
