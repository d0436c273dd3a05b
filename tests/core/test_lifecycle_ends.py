"""Ends by steps, TERM, KILL and the fence: none starts anything before the tree is known gone."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import Fence, Kill, Spawn, Terminate
from phoenixd.core.agent.state import Afterwards, BackingOff, Starting, Stopped, Stopping, StopStep
from phoenixd.core.events import RunEvent
from phoenixd.core.events.fleet import Rebooted
from phoenixd.core.events.orders import AgentWithdrawn
from phoenixd.core.events.runs import (
    AgentVanished,
    RunMissing,
    ShimLost,
    StartFailed,
    TreeLingers,
)
from phoenixd.core.rules import StopRules
from tests.core.story import Story, claude, spec


def test_g39_f_proc_12_an_agent_that_ignores_term_is_killed_after_the_grace() -> None:
    story = Story().runs()
    story.stop()
    assert story.of(Terminate) == [Terminate("a", 1)]
    story.wait(4.9)
    assert not story.of(Kill)
    story.wait(0.1)
    assert story.of(Kill) == [Kill("a", 1)]
    story.wait(5)
    assert len(story.of(Fence)) == 1
    story.wait(30)
    assert len(story.of(Fence)) == 4
    story.wait(3600)
    assert 60 <= len(story.of(Fence)) <= 70, "once a minute, once it has taken long"
    assert story.alerts() == ["lingering"], "P84: told once, not at each attempt"
    assert isinstance(story.state, Stopping)
    story.tree_gone()
    assert isinstance(story.state, Stopped)


def test_the_reason_of_an_agent_that_stops_says_what_is_waited_for() -> None:
    """A silent shim reports no end, so that each step runs into its deadline."""
    story = Story().runs()
    story.stop()
    assert story.agent.reason == "stopping: stopped by operator"
    story.wait(5)
    assert story.agent.reason == "still alive 5 s after SIGTERM: killing its tree"
    story.wait(5)
    assert story.agent.reason == "no end was reported within 5 s of the kill: fencing without the shim"
    story.wait(10)
    assert story.agent.reason == "what is left of the run could not be ended yet: fencing again"
    story.tree_gone()
    assert story.agent.reason == "stopped: stopped by operator"


def test_4_5_the_graces_are_the_operators() -> None:
    story = Story(spec(stop=StopRules(grace=60, kill_retry=1))).runs()
    story.stop()
    story.wait(59)
    assert not story.of(Kill)
    story.wait(1)
    assert story.of(Kill)
    story.wait(1)
    assert story.of(Fence)


@pytest.mark.parametrize("step", [StopStep.TERMINATE, StopStep.KILL])
def test_only_a_fence_may_declare_a_tree_gone(step: StopStep) -> None:
    story = Story().runs()
    story.restart()
    if step is StopStep.KILL:
        story.wait(5)
    story.tree_gone()
    assert isinstance(story.state, Stopping)
    assert story.state.step is step
    assert len(story.of(Spawn)) == 1


@pytest.mark.parametrize("unknown", [AgentVanished("a", 1), ShimLost("a", 1), RunMissing("a", 1)])
def test_unknown_is_not_gone(unknown: RunEvent) -> None:
    story = Story().runs()
    story.tell(unknown)
    story.wait(3600)
    assert len(story.of(Spawn)) == 1
    assert isinstance(story.state, Stopping)
    assert story.state.step is StopStep.FENCE
    story.tree_gone()
    assert len(story.of(Spawn)) == 2


def test_processes_that_outlive_sigkill_are_told_and_wait_for_their_end() -> None:
    story = Story().runs()
    story.restart()
    story.wait(10)
    story.tell(TreeLingers("a", 1, (5, 6)))
    assert story.alerts() == ["lingering"]
    assert len(story.of(Spawn)) == 1


@pytest.mark.parametrize("then", list(Afterwards))
@pytest.mark.parametrize("how", ["exit", "fence", "start failed", "reboot"])
def test_an_end_during_a_stop_leads_where_the_stop_was_to_lead(then: Afterwards, how: str) -> None:
    story = Story()
    story.start()
    if how != "start failed":
        story.started()
    match then:
        case Afterwards.STAY:
            story.stop()
        case Afterwards.RESTART:
            story.restart()
        case Afterwards.REMOVE:
            story.tell(AgentWithdrawn("a"))
        case Afterwards.JUDGE:
            story.tell(ShimLost("a", 1))
    assert isinstance(story.state, Stopping)
    assert story.state.then is then
    match how:
        case "exit":
            story.exited(143)
        case "fence":
            story.wait(10)
            story.tree_gone()
        case "start failed":
            story.tell(StartFailed("a", 1, 0, "it was no longer wanted"))
        case "reboot":
            story.tell(Rebooted("other boot"))
    match then:
        case Afterwards.STAY:
            assert isinstance(story.state, Stopped)
        case Afterwards.REMOVE:
            assert not story.fleet.agents
        case Afterwards.RESTART | Afterwards.JUDGE:
            story.respawned()
            assert story.run.incarnation == 2


@pytest.mark.parametrize("outcome", ["started", "failed", "unanswered"])
def test_a_stop_while_the_spawn_is_in_flight_ends_in_stopped(outcome: str) -> None:
    story = Story()
    story.start()
    story.stop()
    match outcome:
        case "started":
            story.started()
            # The first TERM may have come before there was anything to end.
            assert len(story.of(Terminate)) == 2
            story.exited(signal=15)
        case "failed":
            story.tell(StartFailed("a", 1, 0, "it was no longer wanted"))
        case "unanswered":
            story.wait(10)
            story.tree_gone()
    assert isinstance(story.state, Stopped)
    story.wait(24 * 3600)
    assert len(story.of(Spawn)) == 1


@pytest.mark.parametrize("message", ["busy", "no such session", "a fault in phoenixd"])
@pytest.mark.parametrize("code", [0, 1, 127])
@pytest.mark.parametrize("after_iteration", [False, True])
def test_f_proc_4_a_start_that_fails_after_a_stop_was_asked_stays_stopped(
    message: str, code: int, after_iteration: bool
) -> None:
    story = Story().runs()
    story.pass_over(600)
    story.exited(1)
    story.stop(after_iteration=after_iteration)
    story.tell(StartFailed("a", 2, code, message, "resume refused" if message == "no such session" else "other"))
    assert isinstance(story.state, Stopped)
    story.wait(24 * 3600)
    assert len(story.of(Spawn)) == 2


def test_a_start_that_the_host_refuses_is_tried_again_and_counts_against_nobody() -> None:
    story = Story()
    story.start()
    for incarnation in range(1, 30):
        story.tell(StartFailed("a", incarnation, 0, "the tmux server does not answer"))
        assert isinstance(story.state, BackingOff)
        assert 5 <= story.state.until - story.at <= 10
        story.respawned()
    assert story.agent.crashes == ()


@pytest.mark.parametrize("fresh", [False, True])
def test_a_start_that_came_to_nothing_is_no_restart(fresh: bool) -> None:
    """Each try has a number of its own, for its order may have gone out; what people are shown counts runs."""
    story = Story(claude())
    story.start()
    for _ in range(3):
        story.tell(StartFailed("a", story.run.incarnation, 0, "the shim does not answer"))
        story.respawned()
    assert (story.run.incarnation, story.agent.restarts) == (4, 0)
    story.works()
    story.pass_over(600)
    story.restart(fresh=fresh)
    story.exited(signal=15)
    for _ in range(3):
        story.tell(StartFailed("a", story.run.incarnation, 0, "the shim does not answer"))
        assert story.agent.restarts == 0
        story.respawned()
        assert story.agent.restarts == 1
    story.works()
    story.pass_over(600)
    story.exited(signal=9)
    assert (story.run.incarnation, story.agent.restarts) == (9, 2)


def test_f_proc_15_a_session_that_somebody_else_is_in_is_waited_for() -> None:
    story = Story(claude()).works()
    story.pass_over(600)
    story.exited(signal=9)
    for incarnation in range(2, 6):
        story.tell(StartFailed("a", incarnation, 0, "process 7 works in the same session", "session in use"))
        assert isinstance(story.state, BackingOff)
        assert 60 <= story.state.until - story.at <= 120
        story.respawned()
        assert story.spawn.mode.value == "resume"
    assert (story.agent.crashes, story.agent.restarts) == ((), 1)


def test_a_resume_that_the_launcher_refuses_goes_fresh_at_once() -> None:
    story = Story(claude()).works()
    story.pass_over(600)
    story.exited(signal=9)
    story.tell(StartFailed("a", 2, 1, "the transcript is gone", "resume refused"))
    assert isinstance(story.state, Starting)
    assert story.spawn.mode.value == "fresh"
