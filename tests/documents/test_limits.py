"""Reset times, as Claude Code 2.1.197 words them (its function that formats them was read), and as fields."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.documents.limits import instant, reset_in_words, reset_time


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


NOW = at("2026-11-21T10:00:00")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("You've hit your session limit · resets 3pm (Europe/Berlin)", "2026-11-21T14:00:00"),
        ("You've hit your session limit · resets 3:30pm (UTC)", "2026-11-21T15:30:00"),
        ("You've hit your limit · resets 9am (UTC)", "2026-11-22T09:00:00"),
        ("You've hit your limit · resets 12am (UTC)", "2026-11-22T00:00:00"),
        ("You've hit your limit · resets 12pm (UTC)", "2026-11-21T12:00:00"),
        ("You've hit your weekly limit · resets Nov 27, 3pm (America/New_York)", "2026-11-27T20:00:00"),
        ("You've hit your weekly limit · resets Jan 2, 2027, 3:05pm (UTC)", "2027-01-02T15:05:00"),
        ("You've hit your weekly limit · resets Jan 2, 3pm (UTC)", "2027-01-02T15:00:00"),
        ("You will regain access on 2026-12-01 at 00:00 UTC.", "2026-12-01T00:00:00"),
        ("Claude AI usage limit reached|1795269600", "2026-11-21T14:00:00"),
        ("You've hit your limit · resets 3pm (Mars/Olympus)", None),
        ("You've hit your limit · resets Feb 31, 3pm (UTC)", None),
        ("You've hit your limit · resets 13pm (UTC)", None),
        ("You've hit your limit · resets soon", None),
        ("API Error: Request rejected (429) · stub error", None),
        ("", None),
    ],
)
def test_f_proc_26_the_time_that_a_sentence_names(words: str, expected: str | None) -> None:
    assert reset_in_words(words, NOW) == (at(expected) if expected else None)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"resets_at": NOW + 60}, NOW + 60),
        ({"resets_at": (NOW + 60) * 1000}, NOW + 60),
        ({"resets_at": "2026-11-21T11:00:00Z"}, NOW + 3600),
        ({"resets_at": "2026-11-21T11:00:00"}, None),
        ({"resets_at": True}, None),
        ({"resets_at": float("nan")}, None),
        ({"resets_at": 10**400}, None),
        ({"resets_at": -(10**400), "retry_after": 30}, NOW + 30),
        ({"retry_after": 10**400}, None),
        ({"resets_at": "soon", "retry_after": 30}, NOW + 30),
        ({"retry_after": float("inf")}, None),
        ({"last_assistant_message": ["3pm"]}, None),
        ({"last_assistant_message": "resets 3pm (UTC)", "retry_after": 5}, NOW + 5),
        ({"last_assistant_message": "resets 3pm (UTC)"}, at("2026-11-21T15:00:00")),
        ({}, None),
    ],
)
def test_f_proc_26_a_field_comes_before_a_sentence(payload: dict[str, Any], expected: float | None) -> None:
    assert reset_time(payload, NOW) == expected


@given(st.text() | st.from_regex(r"resets .{0,30}"), st.floats(0, 4e9))
def test_no_words_are_too_odd_to_be_read(words: str, now: float) -> None:
    read = reset_in_words(words, now)
    assert read is None or instant(read) is not None


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("You’ve hit your usage limit. Visit the settings or try again at 4:11 PM.", "2026-11-21T16:11:00"),
        ("You've hit your usage limit. Try again at Nov 23rd, 2026 4:11 PM.", "2026-11-23T16:11:00"),
    ],
)
def test_codex_names_a_time_of_its_machine(words: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As 0.169.0 was seen to word it, on the day itself and with a date."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    try:
        assert reset_in_words(words, NOW) == at(expected)
    finally:
        monkeypatch.undo()
        time.tzset()
