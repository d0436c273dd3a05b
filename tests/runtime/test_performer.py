"""What becomes of actions that the performer cannot take."""

from __future__ import annotations

from typing import Any, cast

from phoenixd.core.actions import Deliver, Kill
from phoenixd.core.events import Event
from phoenixd.core.events.runs import NotDelivered
from phoenixd.runtime.performer import MOST_TEXTS, Performer


def test_a_lane_takes_so_many_texts_and_answers_for_each_that_is_too_much_and_takes_orders_all_the_same() -> None:
    nothing = cast(Any, None)
    told = list[Event]()
    performer = Performer(nothing, nothing, told.append, nothing, nothing, nothing)
    for number in range(MOST_TEXTS + 2):
        performer.submit(Deliver("a", 1, f"m{number}", "hello"))
    performer.submit(Deliver("b", 1, "other", "hello"))
    performer.submit(Kill("a", 1))
    assert [(one.agent, one.message_id) for one in told if isinstance(one, NotDelivered)] == [
        ("a", f"m{MOST_TEXTS}"),
        ("a", f"m{MOST_TEXTS + 1}"),
    ]
    assert len(told) == 2
