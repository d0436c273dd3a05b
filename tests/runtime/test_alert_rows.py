"""Each alert that a decision raises or ends has its row."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.actions import Alert, Reassure
from phoenixd.core.actions import LookAtScreen as Look
from phoenixd.core.decision import Decision
from phoenixd.core.moment import Moment
from phoenixd.runtime.turn import alert_entries
from tests.core.story import Story


def test_an_alerts_row_names_the_incarnation_where_the_decision_leaves_an_agent() -> None:
    alert, now = Alert("a", "unfenced", "nothing proves that it is gone"), Moment(5.0, 50.0)
    living = Decision(replace(Story().agent, incarnation=7), (alert,))
    removed = Decision(None, (alert,))
    assert [row.incarnation for row in alert_entries(living, now)] == [7]
    assert [row.incarnation for row in alert_entries(removed, now)] == [0]


def test_the_rows_of_alerts_tell_what_was_raised_what_is_over_and_what_a_mute_keeps_from_people() -> None:
    raised, held = Alert("a", "hung", "it hangs", id=7), Alert("a", "hung", "it hangs", id=8, held=True)
    over = Reassure("a", "hung", "it hangs", 7, 40.0, "it works")
    rows = list(alert_entries(Decision(Story().agent, (raised, Look("a", 1), held, over)), Moment(5.0, 50.0)))

    assert [(row.event, row.detail["alert"], row.detail.get("held", False), row.weight) for row in rows] == [
        ("alert_raised", 7, False, "story"), ("alert_raised", 8, True, "story"), ("alert_over", 7, False, "story"),
    ]  # fmt: skip
    assert {(row.at, row.wall, row.agent) for row in rows} == {(5.0, 50.0, "a")}
