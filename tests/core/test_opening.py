"""The prompt of a run that is told it by typing: once, and where nobody knows whether it was, a person is told."""

from __future__ import annotations

import pytest

from phoenixd.core import opening
from phoenixd.core.actions import Alert, Deliver
from phoenixd.core.events.orders import StartRequested
from phoenixd.core.events.runs import Delivered, NotDelivered, RunAdopted
from phoenixd.core.typing.orphans import NO_TRACE
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


def test_p36_a_prompt_that_was_not_typed_is_an_alert_and_not_typed_again(story: Story) -> None:
    (order,) = typed(story)
    for _ in range(2):
        story.tell(NotDelivered("a", 1, order.message_id, "it asks"))

    assert len(typed(story)) == 1
    assert [action.kind for action in story.actions if isinstance(action, Alert)] == ["prompt"]


@pytest.mark.parametrize("arrived", [True, False])
def test_p36_a_prompt_that_an_earlier_daemon_was_typing_is_unfinished_until_it_is_known(
    story: Story, arrived: bool
) -> None:
    """Nobody is called because of a daemon's death alone: its agent may tell that it took the prompt."""
    (order,) = typed(story)
    for _ in range(2):
        story.tell(RunAdopted("a", 1, 5, 50))
    assert opening.unfinished(story.agent) == order.message_id
    assert story.alerts() == []

    found = (
        Delivered("a", 1, order.message_id, "taken") if arrived else NotDelivered("a", 1, order.message_id, NO_TRACE)
    )
    story.tell(found)

    assert opening.unfinished(story.agent) == ""
    assert story.alerts() == ([] if arrived else ["prompt"])
    assert len(typed(story)) == 1


def test_p36_who_is_told_by_argument_or_not_at_all_is_not_typed_to() -> None:
    for more in ({"prompt": "Build."}, {"prompt_via": "paste"}, {"prompt": "Build.", "prompt_via": "none"}):
        story = Story(spec(**more))
        story.tell(StartRequested("a"))
        story.started()
        assert typed(story) == []
