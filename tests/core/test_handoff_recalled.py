"""A handoff that somebody calls off, or that a stop ends, has failed in nothing (E80, F-HO-21)."""

from __future__ import annotations

import pytest

from phoenixd.core.events.orders import RollbackRequested, StopRequested
from phoenixd.core.handoff import triggers
from phoenixd.core.handoff.state import Step
from tests.core.handing import HandoffStory


def begun() -> HandoffStory:
    story = HandoffStory()
    story.works()
    story.hook("stop")
    assert story.begins() is None
    return story


@pytest.mark.parametrize("order", [RollbackRequested("o"), StopRequested("o")])
def test_e80_what_somebody_orders_opens_no_case_and_raises_no_alert(order: RollbackRequested | StopRequested) -> None:
    story = begun()
    assert story.tell(order) is None

    assert story.step is Step.ROLLED_BACK
    assert story.handoff.rollbacks == 0
    assert story.fleet.cases.cases == ()
    assert [one.kind for one in story.agent.alerts] == []
    assert story.agent.items == ()


def test_f_ho_21_a_rollback_by_order_is_none_of_the_two_in_a_row() -> None:
    story = begun()
    story.comes_to_nothing()
    for _ in range(3):
        story.begins()
        story.tell(RollbackRequested("o"))

    assert story.handoff.rollbacks == 1, "what failed before still counts"
    assert triggers.may_begin(story.handoff)
    assert not any(one.kind == "proposal" for one in story.agent.items)
