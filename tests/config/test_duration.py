"""Durations as people write them."""

from __future__ import annotations

import re
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from phoenixd.api import openapi
from phoenixd.api.operations import BY_NAME
from phoenixd.api.times import parse_past
from phoenixd.config.duration import LONGEST, Duration, format_duration, parse_duration
from phoenixd.core import durations
from phoenixd.core.durations import UNITS


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
        ("1w", 604800),
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


@pytest.mark.parametrize("unit", sorted(UNITS))
def test_files_commands_and_both_schemas_know_the_same_units(unit: str) -> None:
    """`1w` was refused in a file, and `500ms` on the command line."""
    text = f"3{unit}"
    (schema,) = [one for one in TypeAdapter(Duration).json_schema()["anyOf"] if one["type"] == "string"]
    (waits,) = [one for one in BY_NAME["wait_agent"].parameters if one.name == "timeout"]

    assert parse_duration(text) == durations.parse_duration(text) == 3 * UNITS[unit]
    assert parse_past(text, 1e9, UTC) == 1e9 - 3 * UNITS[unit]
    assert (waits.type, re.search(openapi.DURATION_PATTERN, text) is not None) == ("duration", True)
    assert re.search(schema["pattern"], text)
