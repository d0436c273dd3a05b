"""Heartbeats of any hand: what they claim is believed within reason, and nothing they hold raises."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.documents.heartbeat import read_heartbeat

NOW = datetime(2026, 11, 21, 10, 0, 0, tzinfo=UTC).timestamp()


def beat(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


@pytest.mark.parametrize(
    "stamp",
    [
        "2026-11-21T09:40:00Z",
        "2026-11-21T09:40:00+00:00",
        "2026-11-21T10:40:00+01:00",
        "2026-11-21T04:40:00-0500",
        "2026-11-21T15:10:00.000+05:30",
        "2026-11-21 09:40:00Z",
        NOW - 1200,
        int(NOW * 1000) - 1_200_000,
    ],
    ids=str,
)
def test_g52_a_bare_timestamp_of_any_offset_tells_its_age(stamp: object) -> None:
    """The seed's own test: a heartbeat of 20 minutes ago (G30), as `date -Iseconds` and others write it."""
    seen = read_heartbeat(beat(timestamp=stamp), NOW)

    assert seen is not None
    assert seen.claimed == NOW - 1200
    assert not seen.skewed


def test_the_shims_full_record_is_read() -> None:
    content = beat(
        agent="a",
        timestamp="2026-11-21T09:59:58.000Z",
        tool="Bash",
        pid=7,
        event="tool-end",
        run_id="r1",
        session_id="s",
    )

    seen = read_heartbeat(content, NOW)

    assert seen is not None
    assert (seen.run_id, seen.claimed) == ("r1", NOW - 2.0)


def test_f_hb_3_a_time_in_the_future_counts_as_no_claim() -> None:
    near, far = (read_heartbeat(beat(timestamp=NOW + ahead), NOW) for ahead in (59, 61))

    assert near is not None
    assert (near.claimed, near.skewed) == (NOW + 59, False)
    assert far is not None
    assert (far.claimed, far.skewed) == (None, True)


@pytest.mark.parametrize(
    "stamp", ["2026-11-21T09:40:00", "noon", "", None, True, [], "9" * 500, 0, -5, 1e300, "0001-01-01T00:00:00Z"]
)
def test_f_hb_5_a_time_that_cannot_be_placed_is_no_claim(stamp: object) -> None:
    seen = read_heartbeat(beat(timestamp=stamp), NOW)

    assert seen is not None
    assert seen.claimed is None or stamp == "0001-01-01T00:00:00Z"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"7", b"\xff", b'"x"', b"[" * 9999, b" " * 70_000])
def test_f_hb_2_what_is_no_record_is_none(content: bytes) -> None:
    assert read_heartbeat(content, NOW) is None


@given(
    st.binary()
    | st.dictionaries(
        st.sampled_from(["timestamp", "run_id", "pid", "tool"]),
        st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists),
    ).map(lambda table: json.dumps(table).encode())
)
def test_no_content_raises(content: bytes) -> None:
    read_heartbeat(content, NOW)
