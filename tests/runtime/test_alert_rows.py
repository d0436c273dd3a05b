"""Each alert that a decision raises or ends has its row."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.actions import Alert
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
