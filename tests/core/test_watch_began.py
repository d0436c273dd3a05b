"""The row of a daemon that begins: for how long nobody watched, and how the one before ended."""

from __future__ import annotations

import pytest

from phoenixd.core.events.fleet import EpochBegun
from phoenixd.core.facts import WatchBegan
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import Moment
from phoenixd.core.step import step

NOW = Moment(50.0, 1020.0)


@pytest.mark.parametrize(
    ("ended", "reason"),
    [
        ("", "a daemon begins; nobody watched for 20 s at most: the one before was killed, or died"),
        ("SIGTERM", "a daemon begins; nobody watched for 20 s: the one before was ended by SIGTERM"),
    ],
)
def test_a_daemon_that_begins_after_another_is_a_row_of_the_story(ended: str, reason: str) -> None:
    (begun, *_) = step(Fleet(), EpochBegun(4, 0, 1000.0, ended), NOW).decisions
    assert (begun.weight, begun.reason, begun.facts) == ("story", reason, (WatchBegan(1000.0, ended),))


def test_the_first_one_is_detail() -> None:
    (begun, *_) = step(Fleet(), EpochBegun(4), NOW).decisions
    assert (begun.weight, begun.facts) == ("detail", ())


def test_a_clock_that_was_set_back_makes_no_time_of_it() -> None:
    (begun, *_) = step(Fleet(), EpochBegun(4, 0, 9000.0), NOW).decisions
    assert "for 0 s at most" in begun.reason
