"""Durations as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.config.duration import LONGEST, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("15m", 900),
        ("1h30m", 5400),
        ("90", 90),
        (900, 900),
        (1.5, 1.5),
        ("500ms", 0.5),
        ("2d", 172800),
        ("0", 0),
        ("1.5h", 5400),
    ],
)
def test_it_is_read(text: object, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "m",
        "-1",
        -2,
        "15 minutes",
        "1h 30m",
        "١5m",
        "15m\n\n5",
        True,
        None,
        [],
        float("nan"),
        float("inf"),
        10**40,
    ],
)
def test_it_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@given(st.integers(0, int(LONGEST)))
def test_what_is_written_is_read_back(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds
