"""The prompt of a run that is told it by typing: once, and where nobody knows whether it was, a person is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core import opening
from phoenixd.core.actions import Alert, Deliver
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.state import Running
from phoenixd.core.decision import Decision
from phoenixd.core.events.orders import StartRequested
from phoenixd.core.events.runs import Delivered, NotDelivered, RunAdopted
from phoenixd.core.moment import Moment
from phoenixd.core.typing.orphans import NO_TRACE
from tests.core.story import Story, claude, spec


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


@pytest.mark.parametrize(
    ("session_seen", "prompt", "evidence", "alerts"),
    [
        (True, PromptKind.GOAL, False, ["prompt"]),
        (False, PromptKind.GOAL, False, []), (True, PromptKind.NONE, False, []), (False, PromptKind.NONE, False, []),
        (True, PromptKind.GOAL, True, []),
    ],
)  # fmt: skip
def test_p36_an_idle_screen_calls_a_person_where_a_session_was_told_something_and_shows_nothing_of_it(
    session_seen: bool, prompt: PromptKind, evidence: bool, alerts: list[str]
) -> None:
    story = Story(claude()).works()
    state = story.state
    assert isinstance(state, Running)
    run = replace(state.run, session_seen=session_seen, prompt=prompt, evidence=evidence)
    window = story.agent.spec.resume.window

    found = opening.seen_idle(story.agent, replace(state, run=run), Moment(story.at + window, story.wall))

    assert [one.kind for one in found.actions if isinstance(one, Alert)] == alerts
    assert found.agent is not None
    assert isinstance(found.agent.state, Running)
    assert not found.agent.state.activity.turn_open
    early = Moment(story.at + window - 0.1, story.wall)
    assert opening.seen_idle(story.agent, replace(state, run=run), early) == Decision(story.agent)
