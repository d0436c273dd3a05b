"""Background jobs and wake-ups end with the process, and nobody but the daemon could say so (number 12 of issue 8)."""

from __future__ import annotations

import pytest

from phoenixd.core import background
from phoenixd.core.events.fleet import Rebooted
from tests.core.story import Story, claude

BUILD, CRON = "shell: make world", "schedule: */5 * * * * Check the queue."


def told(story: Story) -> list[str]:
    """What stands as lost, for people."""
    return [one.text for one in story.agent.alerts if one.kind == background.KIND]


def jobs(story: Story, *lines: str) -> Story:
    story.hook("stop", jobs=lines)
    return story


@pytest.mark.parametrize("how", ["killed", "crashed", "hung", "reboot"])
def test_what_went_on_in_the_background_of_a_run_that_died_is_told(how: str) -> None:
    story = jobs(Story(claude()).works(), BUILD, CRON)
    if how == "hung":
        story.hook("prompt-submit", text="Go on.")
        story.screen = "working"
        story.wait(16 * 60)
        story.exited(143)
    elif how == "reboot":
        story.tell(Rebooted("another"))
    else:
        story.exited(signal=9) if how == "killed" else story.exited(1)
    assert len(told(story)) == 1
    assert BUILD in told(story)[0]
    assert CRON in told(story)[0]
    assert any(f"background jobs ended with it: {BUILD}; {CRON}" in reason for reason in story.reasons)


def test_it_is_over_when_the_next_run_was_told_and_brought_a_turn_to_its_end() -> None:
    story = jobs(Story(claude()).works(), BUILD)
    story.pass_over(600)
    story.exited(signal=9)
    story.respawned().works()
    assert story.agent.lost is not None
    assert told(story)
    jobs(story)
    assert (story.agent.lost, told(story)) == (None, [])


def test_what_two_runs_lost_is_told_together_and_once() -> None:
    story = jobs(Story(claude()).works(), BUILD)
    story.exited(signal=9)
    story.respawned().works()
    story.hook("tool-start", tool="CronCreate", tool_use_id="c", jobs=(CRON,))
    story.exited(signal=9)
    assert story.agent.lost is not None
    assert story.agent.lost.jobs == (BUILD, CRON)
    assert len(told(story)) == 1


def test_a_call_that_began_a_job_tells_of_it_before_the_turn_ends_and_the_turns_end_knows_better() -> None:
    story = Story(claude()).works()
    story.hook("tool-start", tool="Bash", tool_use_id="b", jobs=(BUILD,))
    story.hook("tool-end", tool="Bash", tool_use_id="b", jobs=(BUILD,))
    assert story.run.jobs == (BUILD,)
    story.hook("tool-start", tool="Bash", tool_use_id="c", jobs=("shell: false",))
    story.hook("tool-failure", tool="Bash", tool_use_id="c", jobs=("shell: false",))
    assert story.run.jobs == (BUILD,)
    jobs(story)
    assert story.run.jobs == ()
    story.exited(signal=9)
    assert story.agent.lost is None


@pytest.mark.parametrize("how", ["stopped", "left", "restarted"])
def test_who_ends_a_run_himself_is_not_called_for_what_went_with_it(how: str) -> None:
    story = jobs(Story(claude()).works(), BUILD)
    story.pass_over(600)
    if how == "stopped":
        story.stop()
    elif how == "restarted":
        story.restart()
    else:
        story.hook("session-end", source="prompt_input_exit")
    story.exited(0 if how == "left" else 143)
    assert told(story) == []
    assert story.agent.lost is not None, "the next session is told all the same"


def test_an_agent_cannot_make_the_daemon_remember_without_end() -> None:
    story = Story(claude()).works()
    for number in range(100):
        story.hook("tool-start", tool="Bash", jobs=(f"shell: {number} " + "x" * 2000,))
    assert len(story.run.jobs) == background.MOST
    assert all(len(job) == background.LONGEST for job in story.run.jobs)
