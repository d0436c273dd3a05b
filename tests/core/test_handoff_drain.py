"""The handoff of a seat, freeze and drain: what the predecessor may finish, and how it is broken off."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import Deliver, InterruptTurn, Spawn
from phoenixd.core.agent.state import Running, Stopped, Stopping
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.events.fleet import EpochBegun
from phoenixd.core.events.orders import (
    RollbackRequested,
)
from phoenixd.core.events.runs import NotDelivered
from phoenixd.core.handoff.move import ESCAPING
from phoenixd.core.handoff.state import Step
from phoenixd.core.spec import Kind
from tests.core.handing import HandoffStory, at, run_of
from tests.core.story import spec


def test_x17_an_open_turn_is_waited_for_until_the_drain_is_over_and_then_cut() -> None:
    story = at("drain")
    story.wait(599)
    assert story.of(InterruptTurn) == []
    story.wait(2)
    assert story.of(InterruptTurn) == [InterruptTurn("o", 1)]
    assert isinstance(story.fleet.agents["o"].state, Running)
    story.wait(ESCAPING)
    assert isinstance(story.fleet.agents["o"].state, Stopping)
    story.exits("o", None, 15)
    assert story.step is Step.SPAWN
    assert any("cut off" in one for one in story.handoff.degraded)
    assert isinstance(story.fleet.agents["o"].state, Stopped)


def test_x17_at_the_hard_limit_nothing_is_waited_for() -> None:
    story = at("drain")
    story.uses(194_000)
    assert story.of(InterruptTurn) == [InterruptTurn("o", 1)]
    story.wait(ESCAPING)
    assert isinstance(story.fleet.agents["o"].state, Stopping)


def broken_off() -> HandoffStory:
    """The drain is over, and Escape is pressed on the predecessor's turn."""
    story = at("drain")
    story.wait(600)
    assert story.of(InterruptTurn) == [InterruptTurn("o", 1)]
    return story


@pytest.mark.parametrize("evidence", ["its screen", "its hook"])
def test_x17_a_turn_that_escape_ends_leaves_the_predecessor_as_it_is_and_the_package_degraded(evidence: str) -> None:
    story = broken_off()
    # The call that Escape ends may tell so before the screen is read.
    story.hook("tool-failure", tool="Bash")
    if evidence == "its screen":
        story.tell(ScreenSeen("o", 1, "idle", "escape"))
    else:
        story.hook("stop")
    assert story.step is Step.SPAWN
    assert story.handoff.degraded == ("its turn was cut off after 10 min",)
    assert isinstance(story.fleet.agents["o"].state, Running)
    story.tell(RollbackRequested("o"))
    story.exits("o-g2", None, 15)
    assert story.step is Step.ROLLED_BACK
    assert [one.mode.value for one in story.of(Spawn) if one.agent == "o"] == ["fresh"], "it was never ended"


def test_x17_escape_is_pressed_once_whatever_the_screen_shows() -> None:
    story = broken_off()
    for shown in ("working", "unknown"):
        story.hook("tool-start", tool="Bash")
        story.tell(ScreenSeen("o", 1, shown, "escape"))
    story.wait(ESCAPING)
    assert isinstance(story.fleet.agents["o"].state, Stopping)
    assert len(story.of(InterruptTurn)) == 1


def test_x17_ended_by_force_a_rollback_resumes_it_by_its_id() -> None:
    story = broken_off()
    session = run_of(story, "o").session_id
    story.wait(ESCAPING)
    story.exits("o", None, 15)
    story.tell(RollbackRequested("o"))
    story.exits("o-g2", None, 15)
    story.wait(5)
    spawn = story.of(Spawn)[-1]
    assert (spawn.agent, spawn.mode.value, spawn.session_id) == ("o", "resume", session)


def test_x17_what_escape_opened_a_person_is_asked_about_and_nothing_is_ended_meanwhile() -> None:
    story = broken_off()
    story.screen = "dialog"
    story.tell(ScreenSeen("o", 1, "dialog", "escape"))
    assert "asks a person" in story.handoff.held
    story.wait(5000)
    assert isinstance(story.fleet.agents["o"].state, Running)


def test_x17_a_program_to_which_escape_means_nothing_is_ended_at_once() -> None:
    story = HandoffStory(spec("o", kind=Kind.ORCHESTRATOR, prompt="Build the shop."))
    story.works()
    story.begins()
    story.tell(NotDelivered("o", 1, story.of(Deliver)[-1].message_id, "the terminal is busy"))
    story.wait(600)
    assert story.of(InterruptTurn) == []
    assert isinstance(story.fleet.agents["o"].state, Stopping)


def test_background_tasks_are_waited_for_within_the_drain_and_named_where_they_end_with_it() -> None:
    story = at("drain")
    story.hook("stop", jobs=("npm run build",))
    assert story.step is Step.DRAIN
    story.wait(601)
    assert story.step is Step.SPAWN
    assert any("npm run build" in one for one in story.handoff.degraded)


def test_deadlines_stand_still_while_a_person_is_asked() -> None:
    story = at("drain")
    story.hook("permission-request", tool="Bash", text="make deploy")
    assert "asks a person" in story.handoff.held
    story.wait(5000)
    assert story.step is Step.DRAIN
    story.hook("tool-end", tool="Bash")
    assert story.handoff.held == ""
    story.wait(599)
    assert story.step is Step.DRAIN
    story.wait(2 + ESCAPING)
    assert isinstance(story.fleet.agents["o"].state, Stopping)


def test_f_ho_6_a_word_to_finish_that_died_with_the_daemon_is_not_waited_for() -> None:
    story = at("freeze")
    story.tell(EpochBegun(5))
    assert story.step is Step.SPAWN
