"""A handoff that somebody calls off, or that a stop ends, has failed in nothing (E80, F-HO-21)."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import Alert, Deliver, Reassure
from phoenixd.core.events.fleet import EpochBegun
from phoenixd.core.events.orders import RollbackRequested, SendRequested, StartRequested, StopRequested
from phoenixd.core.events.runs import Delivered, NotDelivered
from phoenixd.core.handoff import triggers, words
from phoenixd.core.handoff.state import Step
from phoenixd.core.projection import project
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


def off(story: HandoffStory) -> list[Deliver]:
    return [one for one in story.of(Deliver) if one.text == words.CALLED_OFF]


def back_up(story: HandoffStory) -> None:
    """The predecessor runs again, and rests."""
    if story.agent.run is None:
        assert story.tell(StartRequested("o")) is None
    story.started_of("o")
    story.hook_of("o", "stop")


@pytest.mark.parametrize("how", ["stopped", "ended"])
def test_e80_one_that_was_down_at_a_rollback_is_told_to_go_on_when_it_runs_again(how: str) -> None:
    """Its session is gone on with, and the last that it heard there is to begin nothing."""
    story = begun()
    story.told_to_finish()
    assert story.step is Step.SPAWN
    if how == "stopped":
        story.tell(StopRequested("o"))
        story.exits("o", None, 15)
    else:
        story.exits("o", None, 9)
        story.tell(RollbackRequested("o"))
    if story.find("o-g2") is not None and story.fleet.agents["o-g2"].run is not None:
        story.exits("o-g2", None, 15)
    assert story.step is Step.ROLLED_BACK, story.handoff
    assert off(story) == []

    back_up(story)

    (text,) = off(story)
    assert (text.agent, text.incarnation) == ("o", story.run.incarnation)
    story.tell(EpochBegun(9))
    assert len(off(story)) == 2, "whether it arrived is not known"
    story.tell(Delivered("o", text.incarnation, text.message_id, "prompt"))
    story.wait(60)
    assert len(off(story)) == 2
    assert (story.handoff.letters, story.handoff.posted) == ((), None)


def test_e80_the_word_to_go_on_waits_for_what_its_predecessor_asks() -> None:
    story = begun()
    story.told_to_finish()
    story.hook_of("o", "permission-request", tool="Bash", text="rm -rf build")
    story.tell(RollbackRequested("o"))
    assert off(story) == []
    story.hook_of("o", "tool-end", tool="Bash")
    story.hook_of("o", "stop")
    assert len(off(story)) == 1


def test_e80_the_word_to_go_on_is_tried_again_where_it_did_not_arrive() -> None:
    story = begun()
    story.told_to_finish()
    story.tell(RollbackRequested("o"))
    (text,) = off(story)
    story.tell(NotDelivered("o", text.incarnation, text.message_id, "the terminal is busy"))
    story.hook_of("o", "stop")
    assert len(off(story)) == 2


def test_e80_the_next_handoff_is_not_told_that_the_last_one_was_called_off() -> None:
    story = begun()
    story.told_to_finish()
    story.tell(RollbackRequested("o"))
    story.exits("o-g2", None, 15)
    (text,) = off(story)
    assert story.begins() is None
    story.tell(NotDelivered("o", text.incarnation, text.message_id, "the terminal is busy"))
    assert (story.handoff.letters, story.handoff.posted) == ((), None)


@pytest.mark.parametrize("arrives", [True, False])
def test_e80_a_text_of_the_next_handoff_waits_until_the_word_to_go_on_is_typed(arrives: bool) -> None:
    """Two texts at once in one input line would be one prompt that neither sender meant."""
    story = begun()
    story.told_to_finish()
    story.tell(RollbackRequested("o"))
    story.exits("o-g2", None, 15)
    (text,) = off(story)
    story.begins()
    story.tell(SendRequested("o", "m1", "mind the tests"))
    story.tell(RollbackRequested("o"))
    assert story.step is Step.ROLLED_BACK
    assert off(story) == [text], "it is being typed still"

    came = Delivered("o", text.incarnation, text.message_id, "prompt")
    story.tell(came if arrives else NotDelivered("o", text.incarnation, text.message_id, "the terminal is busy"))
    story.hook_of("o", "stop")

    (_, second) = off(story)
    assert second.message_id != text.message_id, "the word of a handoff before the last is of no use to anybody"
    story.tell(Delivered("o", second.incarnation, second.message_id, "prompt"))
    assert [one.message_id for one in story.of(Deliver)][-1] == "m1"


def test_e80_a_daemon_that_begins_does_not_type_the_word_of_a_handoff_before_the_last_again() -> None:
    story = begun()
    story.told_to_finish()
    story.tell(RollbackRequested("o"))
    story.exits("o-g2", None, 15)
    assert story.begins() is None
    (text,) = off(story)
    story.tell(EpochBegun(9))
    story.tell(RollbackRequested("o"))
    assert [one.message_id for one in off(story)].count(text.message_id) == 1


def test_e80_the_alert_of_a_rollback_is_over_when_the_next_handoff_begins() -> None:
    """Its advice is to begin one again, which is refused from then on; and it hid the steps of the new one."""
    story = begun()
    story.comes_to_nothing()
    assert [one.kind for one in story.agent.alerts] == ["handoff"]
    assert story.begins() is None
    assert story.agent.alerts == ()
    assert [one.kind for one in story.of(Reassure)] == ["handoff"]
    (row,) = project(story.fleet, story.now)
    assert (row.group, row.step) == ("healing", "handoff: freeze")


def lingering(story: HandoffStory) -> HandoffStory:
    """It is being rolled back, and its successor cannot be ended."""
    story.wait(301)
    assert story.step is Step.ROLLBACK
    (alert,) = story.agent.alerts
    assert "cannot be ended" in alert.text
    return story


def test_f_ho_9_the_alert_that_a_successor_cannot_be_ended_is_over_once_it_is_gone() -> None:
    story = HandoffStory().awaiting()
    story.tell(RollbackRequested("o"))
    lingering(story).exits("o-g2", None, 9)
    assert story.step is Step.ROLLED_BACK
    assert story.agent.alerts == ()
    assert [one.kind for one in story.of(Reassure)] == ["lingering", "handoff"]


def test_f_ho_9_that_a_handoff_came_to_nothing_is_told_though_its_successor_could_not_be_ended() -> None:
    story = HandoffStory().awaiting()
    story.wait(602)
    lingering(story).exits("o-g2", None, 9)
    (alert,) = story.agent.alerts
    assert "was rolled back" in alert.text
    assert [one.text for one in story.of(Alert) if one.kind == "handoff"][-1] == alert.text


def test_e80_the_alert_of_a_rollback_stands_where_the_predecessor_was_down_and_is_started_again() -> None:
    story = HandoffStory().awaiting()
    story.exits("o", None, 9)
    for _ in range(2):
        story.exits("o-g2", 1)
    assert story.step is Step.ROLLED_BACK
    back_up(story)
    assert [one.kind for one in story.agent.alerts] == ["handoff"], "the run that goes on has not ended"
    story.exits("o", None, 9)
    assert story.agent.alerts == ()
