"""The handoff of a seat: what a predecessor may do meanwhile, and when it may again."""

from __future__ import annotations

from phoenixd.core.actions import Alert, Deliver
from phoenixd.core.agent.state import Running
from phoenixd.core.events.orders import RollbackRequested, StopRequested
from phoenixd.core.handoff.state import Step
from tests.core.handing import armable, armed_at_ack, denied


def test_a_turn_that_was_held_up_for_a_handoff_that_was_called_off_is_told_by_a_text_of_the_next() -> None:
    """No shim holds up one turn's end twice, so nothing would tell it to finish (found by seed 20223 of the seats)."""
    story = armable()
    story.begins()
    assert (story.handoff.said, denied(story)) == ("armed", ["begin", "finish"])
    story.hook("stop-blocked")
    assert story.tell(RollbackRequested("o")) is None
    story.hook("prompt-submit", text=story.of(Deliver)[-1].text)
    story.begins()
    assert (story.handoff.said, denied(story)) == ("sending", ["begin"])
    story.told_to_finish()
    assert story.step is Step.SPAWN

    story.tell(RollbackRequested("o"))
    story.hook("prompt-submit", text="Build the bank.")
    story.exits("o-g2", None, 15)
    story.begins()
    assert (story.handoff.said, denied(story)) == ("armed", ["begin", "finish"]), "another turn has an end of its own"


def test_a_stop_after_the_run_gives_the_handoff_up_and_leaves_the_predecessor_its_tools() -> None:
    story = armed_at_ack()
    assert story.tell(StopRequested("o", after_iteration=True)) is None
    assert denied(story) == []
    assert story.of(Deliver)[-1].message_id.endswith("-off"), "it is told to go on"
    story.exits("o-g2", None, 15)
    assert story.step.value == "rolled_back"
    assert isinstance(story.fleet.agents["o"].state, Running)
    assert len([one for one in story.of(Deliver) if one.message_id.endswith("-off")]) == 1
    story.uses(194_000)
    story.wait(5000)
    assert story.step.value == "rolled_back", "a seat that is to stop is not handed over by itself"


def test_a_stop_at_once_leaves_the_predecessor_denied_until_it_has_ended() -> None:
    story = armed_at_ack()
    assert story.tell(StopRequested("o")) is None
    assert denied(story) == ["begin", "rest"]


def test_a_rollback_gives_the_predecessor_its_tools_back_although_the_successor_cannot_be_ended() -> None:
    story = armed_at_ack()
    assert story.tell(RollbackRequested("o")) is None
    assert denied(story) == []
    assert story.of(Deliver)[-1].message_id.endswith("-off")
    assert story.step.value == "rollback"
    story.wait(299)
    assert "handoff" not in story.alerts()
    story.wait(2)
    assert [one.agent for one in story.of(Alert) if one.kind == "handoff"] == ["o"]
    story.exits("o-g2", None, 15)
    assert story.step.value == "rolled_back"
    assert len([one for one in story.of(Deliver) if one.message_id.endswith("-off")]) == 1


def test_the_predecessor_is_denied_its_tools_for_as_long_as_the_handoff_goes_on() -> None:
    story = armed_at_ack()
    story.hook_of("o-g2", "permission-request", tool="Bash", text="phoenixctl handoff ack")
    for _ in range(3):
        story.wait(20 * 3600)
        assert story.step.value == "await_ack"
        assert denied(story) == ["begin", "rest"]
    story.tell(RollbackRequested("o"))
    assert denied(story) == []
