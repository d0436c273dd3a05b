"""A way to the operator that fails is tried again with one alert after the other, and forgets none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.events.fleet import TroubleSeen
from phoenixd.core.events.orders import MuteRequested
from phoenixd.core.fleet import Fleet
from phoenixd.core.redelivery import (
    LONGEST_PAUSE,
    Refused,
    Way,
    catch_up,
    having_failed,
    having_told,
    is_due,
    pause,
)
from phoenixd.core.unheard import MOST
from tests.core.test_unheard import by_ways, with_alerts

WEBHOOK = "webhook"
AT = 1000.0


def waiting(*numbers: int) -> Fleet:
    """A fleet with these alerts, which wait for the web hook in this order."""
    return with_alerts(*(StandingAlert(n, "hung", "it hung", float(n), waits=(WEBHOOK,)) for n in numbers))


def told(*numbers: int) -> tuple[tuple[str, int], ...]:
    return tuple(("a", number) for number in numbers)


def late(way: Way, fleet: Fleet, *offered: int, at: float = AT) -> tuple[Way, list[int]]:
    way, found = catch_up(way, WEBHOOK, fleet, offered, at)
    return way, [one.id for one in found.alerts]


@pytest.mark.parametrize(("failures", "seconds"), [(1, 300.0), (2, 600.0), (4, 2400.0), (5, 3600.0), (10_000, 3600.0)])
def test_a_way_that_fails_is_tried_less_and_less_often_and_never_given_up(failures: int, seconds: float) -> None:
    assert pause(failures) == seconds <= LONGEST_PAUSE


@pytest.mark.parametrize(
    ("after", "failures", "due"),
    [
        ((), 1, 300.0),
        ((0.0, 299.0), 1, 300.0),
        ((300.0,), 2, 900.0),
        ((300.0, 301.0, 899.0), 2, 900.0),
        ((300.0, 900.0), 3, 2100.0),
    ],
)
def test_what_fails_before_the_next_try_is_of_the_same_failure(
    after: tuple[float, ...], failures: int, due: float
) -> None:
    """Whatever it had to tell already fails with it."""
    way = having_failed(Way(), 1, AT)
    for number, seconds in enumerate(after, 2):
        way = having_failed(way, number, AT + seconds)
    assert (way.failures, way.due) == (failures, AT + due)
    assert not is_due(way, AT + due - 1)
    assert is_due(way, AT + due)
    assert having_told(way, told(1)) == Way(
        behind=True, told=1, refused={n: one for n, one in way.refused.items() if n != 1}
    )


def test_the_end_of_an_alert_that_is_not_told_leaves_nothing_to_catch_up_with() -> None:
    way = having_failed(Way(), None, AT)
    assert way == Way(failures=1, due=AT + 300.0)
    assert not is_due(way, AT + 300.0)


def test_one_that_works_tells_all_that_waits_in_one_go_and_one_that_fails_is_tried_with_one_after_the_other() -> None:
    fleet = waiting(1, 2, 3)
    assert late(Way(), fleet) == (Way(), [1, 2, 3])
    assert late(Way(), fleet, 2)[1] == [1, 3], "it was given that already"

    way, tried = having_failed(Way(), 2, AT), list[int]()
    for at in (AT, *(AT + n * LONGEST_PAUSE for n in range(1, 5))):
        way, found = late(way, fleet, at=at)
        assert is_due(way, way.due), "it is not forgotten"
        tried += found
        way = having_failed(way, found[0], at)
    assert tried == [1, 3, 1, 2, 3], "after the one that it failed with, and again from the first one"


@pytest.mark.parametrize(
    ("refused", "at", "found"),
    [
        (Refused(1, 0, AT), AT, [1, 2]),
        (Refused(2, 1, AT + 300.0), AT + 299.0, [2]),
        (Refused(2, 1, AT + 300.0), AT + 300.0, [1, 2]),
    ],
)
def test_an_alert_that_a_way_refuses_again_and_again_is_not_told_before_its_time(
    refused: Refused, at: float, found: list[int]
) -> None:
    way, tells = late(Way(told=2, refused={1: refused}), waiting(1, 2), at=at)
    assert tells == found
    assert way.behind == (1 not in found), "and is not forgotten"


def test_that_a_way_refuses_everything_counts_once_for_each_alert() -> None:
    """It fails: which alert it is tried with says nothing about that."""
    way = having_failed(having_failed(Way(), 1, AT), 1, AT + 1.0)
    assert way.refused[1].times == 1
    way = having_failed(having_told(way, told(2)), 1, AT + 2.0)
    assert way.refused[1] == Refused(2, 1, AT + 2.0 + 300.0)


def test_of_what_a_way_refused_nothing_is_kept_once_it_is_over() -> None:
    way = having_failed(having_failed(Way(), 1, AT), 2, AT)
    assert late(way, waiting(2))[0].refused.keys() == {2}


@pytest.mark.parametrize("failures", [0, 1])
def test_what_a_mute_holds_back_is_looked_for_again_also_where_the_way_fails(failures: int) -> None:
    story = by_ways(WEBHOOK)
    story.tell(TroubleSeen("a", "brief", "it is old"))
    story.tell(MuteRequested("a", 60.0, "ada"))
    way, tells = late(Way(failures=failures), story.fleet)
    assert (way.behind, tells) == (True, [])


STEPS = st.lists(
    st.tuples(st.sampled_from(["told", "failed", "end failed", "looked"]), st.integers(1, 6), st.floats(0.0, 4000.0)),
    max_size=30,
)


@given(steps=STEPS, standing=st.sets(st.integers(1, 6)))
def test_whatever_a_way_went_through_it_tells_everything_that_stands_once_it_works(
    steps: list[tuple[str, int, float]], standing: set[int]
) -> None:
    fleet, way, at = waiting(*standing), Way(), AT
    for step, number, seconds in steps:
        at += seconds
        if step == "told":
            way = having_told(way, told(number))
        elif step == "looked":
            way, found = late(way, fleet, at=at)
            assert len(found) <= (1 if way.failures else MOST)
            assert not any(way.refused[one].due > at for one in found if one in way.refused)
            assert way.behind or set(found) == standing
        else:
            way = having_failed(way, None if step == "end failed" else number, at)
        assert way.due <= at + LONGEST_PAUSE

    at += LONGEST_PAUSE
    way, first = late(way, fleet, at=at)
    if way.failures and first:
        way, rest = late(having_told(way, told(*first)), waiting(*standing - {*first}), at=at)
        first += rest
    assert set(first) == standing
    assert len(first) == len(standing)
