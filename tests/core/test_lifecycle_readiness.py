"""When a start is a run: by exec, by a hook, by evidence or by the screen, and what becomes of one that is none."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import Fence, Kill, LookAtScreen, Spawn, Terminate
from phoenixd.core.agent.state import Running, Starting, Stopped, Stopping
from phoenixd.core.events.evidence import EvidenceSeen, ScreenSeen
from phoenixd.core.events.runs import (
    AgentStarted,
    StartFailed,
)
from tests.core.story import Story, claude, spec


def test_a_command_is_running_when_exec_has_succeeded() -> None:
    story = Story()
    story.start()
    assert isinstance(story.state, Starting)
    story.started(pid=42)
    assert isinstance(story.state, Running)
    assert (story.run.pid, story.run.start_time) == (42, 420)


def test_an_agent_with_hooks_is_running_when_the_first_one_came() -> None:
    story = Story(claude())
    story.start()
    story.started()
    assert isinstance(story.state, Starting)
    story.hook("session-start", session_id=story.run.session_id)
    assert isinstance(story.state, Running)


def test_a_hook_that_overtakes_the_word_of_the_start_is_not_lost() -> None:
    story = Story(claude())
    story.start()
    story.hook("session-start", session_id=story.run.session_id)
    assert isinstance(story.state, Starting)
    story.started()
    assert isinstance(story.state, Running)


def test_f_hb_7_growing_evidence_is_readiness_too() -> None:
    story = Story(claude())
    story.start()
    story.started()
    story.tell(EvidenceSeen("a", 1, "transcript"))
    assert isinstance(story.state, Running)
    assert story.run.evidence


def test_f_proc_16_without_a_hook_the_screen_is_looked_at_and_nothing_is_killed() -> None:
    story = Story(claude())
    story.start()
    story.started()
    story.wait(300)
    assert isinstance(story.state, Starting)
    # 2, 4, 8 and 16 s after the start, and then at each end of a window.
    assert len(story.of(LookAtScreen)) == 14
    assert not story.of(Terminate)


def test_f_res_2_a_resume_without_a_sign_of_life_is_ended_and_goes_fresh() -> None:
    story = Story(claude()).works()
    story.pass_over(600)
    story.exited(signal=9)
    story.started()
    story.wait(29.9)
    assert isinstance(story.state, Starting)
    story.wait(0.1)
    assert isinstance(story.state, Stopping)
    story.exited(143)
    assert story.spawn.mode.value == "fresh"
    assert story.agent.crashes == ()


def test_the_window_holds_only_for_harnesses_whose_hooks_have_been_seen() -> None:
    story = Story(claude())
    story.start()
    story.started()
    story.tell(ScreenSeen("a", 1, "idle"))
    story.exited(signal=9)
    story.respawned().started()
    story.wait(120)
    assert not story.of(Terminate)


def test_f_res_2_a_resume_that_no_hook_tells_of_is_looked_at_and_not_taken_for_dead() -> None:
    """Codex reports its session with its first prompt, and an idle session is resumed without one."""
    story = Story(spec(harness="codex", prompt=None)).works()
    story.hook("stop")
    story.pass_over(600)
    story.exited(signal=9)
    story.started()
    looks = len(story.of(LookAtScreen))
    story.wait(3)
    assert len(story.of(LookAtScreen)) == looks + 1
    story.wait(120)
    assert not story.of(Terminate)
    story.tell(ScreenSeen("a", 2, "idle"))
    assert isinstance(story.state, Running)
    assert story.run.mode.value == "resume"


def test_p53_codex_that_a_person_leaves_at_once_stays_down() -> None:
    story = Story(spec(harness="codex"))
    story.start()
    story.started()
    story.hook("session-start")
    story.hook("session-end", source="other")
    story.exited(0)
    assert isinstance(story.state, Stopped)


def test_f_proc_16_gemini_says_by_its_notification_that_it_asks() -> None:
    story = Story(spec(harness="gemini")).works()
    story.hook("notification", notification="ToolPermission", text="Shell asks")
    assert isinstance(story.state, Running)
    assert story.state.activity.waiting is not None
    assert story.state.activity.waiting.kind == "permission"


def test_a_fresh_start_that_hangs_before_its_first_hook_is_ended_as_hung() -> None:
    story = Story(claude()).works()
    story.restart(fresh=True)
    story.exited(143)
    story.started()
    story.wait(899)
    assert isinstance(story.state, Starting)
    story.wait(1)
    assert isinstance(story.state, Stopping)
    assert "hung" in story.agent.reason


def test_a_start_that_nobody_answers_is_fenced() -> None:
    story = Story()
    story.start()
    story.wait(30)
    assert isinstance(story.state, Stopping)
    assert story.of(Fence) == [Fence("a", 1, story.run.run_id, None, None)]
    story.tree_gone()
    story.respawned()
    assert story.run.incarnation == 2
    assert story.agent.crashes == ()


@pytest.mark.parametrize("wanted", [False, True])
def test_promise_3_a_run_that_begins_after_it_was_given_up_is_ended(wanted: bool) -> None:
    """Its shim was silent for longer than a start may take, and read the order after all."""
    story = Story()
    story.start()
    late = story.run
    story.wait(30)
    if not wanted:
        story.stop()
    story.tree_gone()
    if wanted:
        story.respawned()
    before = story.agent
    assert isinstance(story.state, Starting if wanted else Stopped)
    story.tell(AgentStarted("a", late.incarnation, late.run_id, 7, 70))
    assert story.of(Kill) == [Kill("a", 1)]
    assert story.reasons[-1] == "run 1 began after it was given up: it is ended"
    assert story.agent == before


@pytest.mark.parametrize("said", ["busy", "a fault"])
def test_a_start_order_given_twice_does_not_forget_the_run_that_lives(said: str) -> None:
    story = Story().runs()
    for state in (Running, Stopping):
        for code in (0, 1, 127):
            story.tell(StartFailed("a", 1, code, said))
            assert isinstance(story.state, state)
        if state is Running:
            story.stop()
    assert len(story.of(Spawn)) == 1
