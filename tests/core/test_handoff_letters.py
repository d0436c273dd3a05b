"""The handoff of a seat: texts that were sent to it meanwhile."""

from __future__ import annotations

from phoenixd.core.actions import Alert, Deliver
from phoenixd.core.events.fleet import EpochBegun
from phoenixd.core.events.orders import (
    RollbackRequested,
    SendRequested,
)
from phoenixd.core.events.runs import Delivered, NotDelivered
from phoenixd.core.handoff import letters
from phoenixd.core.handoff.state import Step
from phoenixd.core.spec import Kind
from tests.core.handing import HandoffStory, at, run_of
from tests.core.story import spec


def typed(story: HandoffStory) -> list[str]:
    return [one.message_id for one in story.of(Deliver) if one.message_id.startswith("m")]


def letters_under_way() -> HandoffStory:
    story = at("await_ack")
    for name in ("m1", "m2"):
        story.tell(SendRequested("o", name, f"text {name}"))
    story.ack()
    story.exits("o", None, 15)
    return story


def test_a_text_that_is_sent_again_with_its_key_waits_once() -> None:
    story = at("await_ack")
    for _ in range(2):
        assert story.tell(SendRequested("o", "m1", "mind the tests")) is None
    assert [one.message_id for one in story.handoff.letters] == ["m1"]


def test_texts_are_typed_one_after_the_other_as_each_arrives() -> None:
    story = letters_under_way()
    assert typed(story) == ["m1"]
    story.tell(Delivered("o-g2", run_of(story).incarnation, "m1", "prompt"))
    assert typed(story) == ["m1", "m2"]
    story.tell(Delivered("o-g2", run_of(story).incarnation, "m2", "prompt"))
    assert (story.handoff.letters, story.handoff.posted) == ((), None)


def test_a_text_that_did_not_arrive_is_tried_again_when_the_holder_rests_and_is_told_when_it_is_given_up() -> None:
    story = letters_under_way()
    for tries in (1, 2, 3):
        assert typed(story) == ["m1"] * tries
        story.tell(NotDelivered("o-g2", run_of(story).incarnation, "m1", "the terminal is busy"))
        if tries < 3:
            assert typed(story) == ["m1"] * tries
            story.hook_of("o-g2", "stop")
    assert typed(story) == ["m1", "m1", "m1", "m2"]
    assert any("did not arrive" in one.text for one in story.of(Alert))


def test_a_text_that_did_not_arrive_at_one_who_tells_of_no_turns_is_tried_again_in_time_and_then_told() -> None:
    story = HandoffStory(spec("o", kind=Kind.ORCHESTRATOR))
    story.runs()
    story.begins()
    story.tell(SendRequested("o", "m1", "mind the tests"))
    story.tell(RollbackRequested("o", "operator"))
    story.exits("o-g2", None, 15)
    assert story.step is Step.ROLLED_BACK
    for tries in (1, 2, 3):
        assert typed(story) == ["m1"] * tries
        story.tell(NotDelivered("o", 1, "m1", "the terminal is busy"))
        story.wait(letters.AGAIN)
    story.wait(3600)
    assert typed(story) == ["m1"] * 3
    assert "did not arrive in 3 tries" in story.of(Alert)[-1].text


def test_a_text_that_is_given_up_is_told_beside_the_rollback_and_each_text_by_itself() -> None:
    story = at("await_ack")
    for name in ("m1", "m2"):
        story.tell(SendRequested("o", name, f"text {name}"))
    for _ in range(3):
        if story.find("o-g2") is not None and story.fleet.agents["o-g2"].run is not None:
            story.exits("o-g2", 1)
        story.wait(600)
    assert story.step is Step.ROLLED_BACK
    assert ["was rolled back" in one.text for one in story.agent.alerts] == [True]
    story.tell(Delivered("o", 1, story.of(Deliver)[-1].message_id, "prompt"))
    for order in ("m1", "m1", "m1", "m2", "m2", "m2"):
        assert typed(story)[-1] == order
        story.tell(NotDelivered("o", run_of(story, "o").incarnation, order, "the terminal is busy"))
        story.wait(letters.AGAIN)
    assert [one.kind for one in story.of(Alert) if "did not arrive" in one.text] == ["handoff"] * 2
    assert [one.kind for one in story.agent.alerts] == ["handoff"] * 3
    story.begins()
    assert story.agent.alerts == ()


def test_a_text_whose_daemon_was_killed_while_it_was_typed_is_not_lost() -> None:
    story = letters_under_way()
    story.tell(EpochBegun(5))
    assert typed(story) == ["m1", "m1"]


def test_a_text_whose_run_ended_while_it_was_typed_goes_to_the_next_one() -> None:
    story = letters_under_way()
    story.exits("o-g2", None, 9)
    story.respawned()
    story.started_of("o-g2")
    assert typed(story) == ["m1", "m1"]
