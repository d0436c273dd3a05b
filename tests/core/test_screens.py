"""What a look at the screen tells where no hook does: dialogs of a start, and dialogs that a person refused."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import LookAtScreen, Terminate
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Running, Starting, Stopping
from phoenixd.core.events.evidence import EvidenceSeen, ScreenSeen
from tests.core.story import Story, claude
from tests.core.test_session import activity, waits

# The screen, as the last resort.


@pytest.mark.parametrize("verdict", ["permission", "trust", "api-key", "bypass-warning", "login", "resume-picker"])
def test_f_proc_16_a_dialog_before_the_first_hook_is_a_question(verdict: str) -> None:
    story = Story(claude())
    story.start()
    story.started()
    story.wait(30)
    assert story.of(LookAtScreen)
    story.tell(ScreenSeen("a", 1, verdict))
    assert waits(story) == "dialog"
    assert story.alerts() == ["dialog"]
    story.wait(24 * 3600)
    assert not story.of(Terminate)
    story.hook("session-start")
    assert waits(story) is None


def test_f_res_2_a_picker_at_a_resume_is_ended_and_goes_fresh() -> None:
    story = Story(claude())
    story.runs()
    story.tell(EvidenceSeen("a", 1, "transcript"))
    story.pass_over(600)
    story.exited(signal=9)
    story.started()
    story.tell(ScreenSeen("a", 2, "resume-picker"))
    assert isinstance(story.state, Stopping)
    story.exited(143)
    assert story.spawn.mode is Mode.FRESH


@pytest.mark.parametrize("verdict", ["working", "idle"])
def test_f_hb_7_an_agent_whose_hooks_are_missing_runs_all_the_same(verdict: str) -> None:
    story = Story(claude())
    story.start()
    story.started()
    story.tell(ScreenSeen("a", 1, verdict))
    assert isinstance(story.state, Running)


@pytest.mark.parametrize("verdict", ["unknown", "", "\x1b[31m"])
def test_what_the_screen_does_not_tell_is_not_guessed(verdict: str) -> None:
    story = Story(claude())
    story.start()
    story.started()
    story.tell(ScreenSeen("a", 1, verdict))
    assert isinstance(story.state, Starting)


def test_a_screen_is_no_judge_of_a_running_agent() -> None:
    story = Story(claude()).works()
    before = story.fleet
    for verdict in ("permission", "idle", "resume-picker"):
        story.tell(ScreenSeen("a", 1, verdict))
    assert story.fleet == before


# A dialog that a person answers by No, or breaks off, is told by no hook: the screen is looked at.


def asked(**hook: str) -> Story:
    story = Story(claude()).works()
    story.hook("tool-start", tool="Bash", tool_use_id="t1")
    story.hook("permission-request", tool="Bash", text="rm -rf .", **hook)
    return story


def test_f_proc_16_a_dialog_that_was_refused_closes_once_the_screen_is_idle() -> None:
    story = asked()
    story.screen = "permission"
    story.wait(10)
    assert waits(story) == "permission"
    story.screen = "idle"
    story.wait(10)
    assert waits(story) is None
    assert not activity(story).turn_open
    assert story.agent.incarnation == 1


def test_f_proc_16_a_dialog_that_does_not_show_yet_is_not_gone() -> None:
    """The hook comes before the dialog is drawn, and a busy machine draws it late."""
    story = asked()
    story.screen = "working"
    story.wait(60)
    assert waits(story) == "permission"
    story.screen = "permission"
    story.wait(60)
    story.screen = "working"
    story.wait(60)
    assert waits(story) is None
    assert activity(story).turn_open


def test_a_screen_that_cannot_be_read_closes_no_question() -> None:
    story = asked()
    for story.screen in ("permission", "unknown"):
        story.wait(600)
        assert waits(story) == "permission"


def test_a_growing_transcript_is_a_reason_to_look_at_once() -> None:
    story = asked()
    story.screen = "permission"
    story.wait(3600)
    story.screen = "idle"
    story.tell(EvidenceSeen("a", 1, "transcript"))
    assert waits(story) is None


def test_a_dialog_that_stands_all_night_is_looked_at_ever_more_rarely() -> None:
    story = asked()
    story.screen = "permission"
    story.wait(8 * 3600)
    assert waits(story) == "permission"
    assert 10 < len(story.of(LookAtScreen)) < 150


def test_a_turn_that_was_broken_off_is_over_within_minutes() -> None:
    """A person's Esc is told by no hook; a death soon after must not be answered by going on with what was stopped."""
    story = Story(claude()).works()
    story.screen = "idle"
    story.wait(90)
    assert not activity(story).turn_open
    story.exited(signal=9)
    assert story.spawn.prompt is PromptKind.NONE


@pytest.mark.parametrize("screen", ["working", "unknown"])
def test_a_look_at_a_turn_that_goes_on_changes_nothing(screen: str) -> None:
    story = Story(claude()).works()
    story.screen = screen
    story.wait(10 * 60)
    assert activity(story).turn_open
    assert waits(story) is None
