"""Times from a hostile hand: whatever is read as one can be written as a date, in every zone and by every document."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.documents.kept_ledger import VERSION, KeptLedger, read_kept, render_kept
from phoenixd.documents.limits import instant
from phoenixd.documents.times import FIRST, LAST, known_wall, read_time, timestamp, utc_date
from tests.documents.ledgers import ledger_of
from tests.transcripts.samples import answer, prompt, tool_result, tool_use

OUTSIDE = [
    "9999-12-31T23:59:59-14:00",
    "9999-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "1969-12-31T23:59:59Z",
]


@pytest.mark.parametrize("text", OUTSIDE)
def test_a_time_that_no_session_ran_at_is_none(text: str) -> None:
    assert read_time(text) is None
    assert instant(text) is None


@pytest.mark.parametrize("text", ["1970-01-01T00:00:00Z", "9998-12-31T23:59:59Z", "2026-11-21T10:00:00Z"])
def test_every_other_time_is_read_and_written_as_it_was(text: str) -> None:
    read = read_time(text)

    assert read is not None
    assert timestamp(read) == text


@given(st.floats() | st.integers().map(lambda number: float(number % 10**300)))
def test_whatever_is_known_as_a_time_can_be_written(wall: float) -> None:
    known = known_wall(wall)

    assert known is None or utc_date(known).isoformat() == timestamp(known)[:10]
    assert known is not None or not FIRST <= wall < LAST


@given(st.floats() | st.integers() | st.text(max_size=40))
def test_whatever_a_limit_names_can_be_written(value: object) -> None:
    read = instant(value)

    assert read is None or timestamp(read)


LINES = (
    prompt("Fix the login."),
    tool_use("t-1", command="pytest"),
    tool_result("t-1", "Exit code 1", failed=True),
    answer("Done with the login."),
)


def kept_with(wall: str) -> bytes:
    """A kept ledger whose times are all that one, as JSON writes it."""
    ledger = ledger_of(b"".join(LINES))
    kept = KeptLedger(VERSION, "/t.jsonl", 1, 2, 0, "", is_whole=True, ledger=ledger)

    def replaced(value: object) -> object:
        if isinstance(value, float):
            return "TIME"
        if isinstance(value, dict):
            return {key: replaced(one) for key, one in value.items()}
        return [replaced(one) for one in value] if isinstance(value, list) else value

    text = json.dumps(replaced(json.loads(render_kept(kept))))
    assert text.count('"TIME"') >= 6
    return text.replace('"TIME"', wall).encode()


def test_a_kept_ledger_is_read_back() -> None:
    assert read_kept(kept_with("1790000000.5")) is not None


@pytest.mark.parametrize("wall", ["1e300", "-1e300", "NaN", "Infinity", "253402300800", "-1.5"])
def test_a_kept_ledger_with_a_time_that_cannot_be_written_is_as_none(wall: str) -> None:
    assert read_kept(kept_with(wall)) is None


def test_nothing_is_read_as_a_time_that_is_no_number() -> None:
    assert known_wall(math.nan) is None
    assert known_wall(math.inf) is None
