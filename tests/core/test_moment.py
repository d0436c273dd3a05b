"""Lengths of time as reasons tell them."""

from __future__ import annotations

import pytest

from phoenixd.core.moment import between, in_words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"), (7.6, "8 s"), (60, "1 min"), (90, "90 s"), (125, "2 min 5 s"), (1800, "30 min"), (1799, "30 min"),
        (3599, "1 h"), (3600, "1 h"), (3900, "1 h 5 min"), (7200, "2 h"), (90_000, "25 h"),
    ],
)  # fmt: skip
def test_a_length_of_time_is_told_in_the_largest_units_that_fit(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


@pytest.mark.parametrize(
    ("begins", "until", "words"),
    [
        (100.6, 105.1, "5 s"),
        (100.1, 104.9, "4 s"),
        (100.0, 100.0, "0 s"),
        (105.0, 100.0, "0 s"),
        (0.9, 600.0, "10 min"),
    ],
)
def test_the_time_between_two_clock_times_is_what_these_show(begins: float, until: float, words: str) -> None:
    assert between(begins, until) == words
