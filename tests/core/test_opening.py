"""The prompt of a run that is told it by typing: once, and where nobody knows whether it was, a person is told."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import Alert, Deliver
from phoenixd.core.events.orders import StartRequested
from phoenixd.core.events.runs import Delivered, NotDelivered, RunAdopted
from tests.core.story import Story, spec


def typed(story: Story) -> list[Deliver]:
    return [action for action in story.actions if isinstance(action, Deliver)]


@pytest.fixture
def story() -> Story:
    told = Story(spec(prompt="Build the shop.", prompt_via="paste"))
    told.tell(StartRequested("a"))
    told.started()
    return told


def test_p36_a_run_is_told_its_prompt_once_it_runs(story: Story) -> None:
    (order,) = typed(story)
    assert (order.incarnation, order.opening, order.text) == (1, True, "")

    story.tell(Delivered("a", 1, order.message_id, "typed"))
    story.tell(RunAdopted("a", 1, 5, 50))

    assert len(typed(story)) == 1
    assert story.agent.alerts == ()


@pytest.mark.parametrize("event", ["not delivered", "adopted"])
def test_p36_a_prompt_that_may_not_have_been_typed_is_an_alert_and_not_typed_again(story: Story, event: str) -> None:
    (order,) = typed(story)
    for _ in range(2):
        story.tell(
            NotDelivered("a", 1, order.message_id, "it asks") if event == "not delivered" else RunAdopted("a", 1, 5, 50)
        )

    assert len(typed(story)) == 1
    assert [action.kind for action in story.actions if isinstance(action, Alert)] == ["prompt"]


def test_p36_who_is_told_by_argument_or_not_at_all_is_not_typed_to() -> None:
    for more in ({"prompt": "Build."}, {"prompt_via": "paste"}, {"prompt": "Build.", "prompt_via": "none"}):
        story = Story(spec(**more))
        story.tell(StartRequested("a"))
        story.started()
        assert typed(story) == []
