"""What anybody can ask for in a loop is done at most so often, and never later than it has to be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from phoenixd.core.pace import Pace

GAPS = st.lists(st.floats(0, 40, allow_nan=False), min_size=1, max_size=40)


@given(GAPS, st.integers(1, 6))
def test_no_window_holds_more_and_what_waits_is_done_as_soon_as_it_may(gaps: list[float], most: int) -> None:
    pace, now, done = Pace(most, 30.0), 0.0, list[float]()
    for gap in gaps:
        now += gap
        due = pace.due(now)
        assert due == now or due == done[-most] + 30.0
        now = due
        pace = pace.did(now)
        done.append(now)

    assert all(later - earlier >= 29.999 for earlier, later in zip(done, done[most:], strict=False))
