"""One agent from start to end: readiness, ends and their steps, recovery, and words that come late or twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from phoenixd.core.actions import Fence, Kill, LookAtScreen, Spawn, Terminate
from phoenixd.core.agent.state import Afterwards, BackingOff, Desired, Running, Starting, Stopped, Stopping, StopStep
from phoenixd.core.events import RunEvent
from phoenixd.core.events.evidence import EvidenceSeen, ScreenSeen
from phoenixd.core.events.fleet import Rebooted, Tick
from phoenixd.core.events.orders import AgentWithdrawn, SendRequested, StartRequested, StopRequested
from phoenixd.core.events.runs import (
    AgentExited,
    AgentStarted,
    AgentVanished,
    Delivered,
    NotDelivered,
    RunAdopted,
    RunMissing,
    ShimLost,
    StartFailed,
    TreeGone,
    TreeLingers,
)
from phoenixd.core.rules import StopRules
from phoenixd.documents.hooks import hook_of
from tests.core.story import Story, claude, spec


def about(incarnation: int, run_id: str = "") -> list[RunEvent]:
    """Every event that can be said of a run."""
    return [
        AgentStarted("a", incarnation, run_id, 7, 70),
        StartFailed("a", incarnation, 127, "gone"),
        StartFailed("a", incarnation, 0, "busy"),
        AgentExited("a", incarnation, run_id, 0, None),
        AgentExited("a", incarnation, run_id, None, 9, cause="terminal_lost"),
        AgentVanished("a", incarnation),
        ShimLost("a", incarnation),
        TreeGone("a", incarnation),
        TreeLingers("a", incarnation, (7,)),
        hook_of("a", incarnation, "session-start", session_id="old"),
        hook_of("a", incarnation, "permission-request", tool="Bash"),
        EvidenceSeen("a", incarnation, "transcript"),
        EvidenceSeen("a", incarnation, "heartbeat", age=1200),
        ScreenSeen("a", incarnation, "trust"),
        RunAdopted("a", incarnation, 7, 70),
        RunMissing("a", incarnation),
        Delivered("a", incarnation, "m", "hook"),
        NotDelivered("a", incarnation, "m", "gone"),
    ]


def to_backing_off(story: Story) -> None:
    story.lives(1, 1).respawned()
    story.lives(1, 1)


SITUATIONS: dict[str, Callable[[Story], None]] = {
    "starting": lambda story: story.lives(1, 1) and None,
    "running": lambda story: story.lives(1, 1).runs() and None,
    "stopping": lambda story: story.lives(1, 1).runs().stop() and None,
    "backing_off": to_backing_off,
    "stopped": lambda story: story.lives(60, 0) and None,
    "quarantined": lambda story: story.lives(1, 127) and None,
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_f_proc_3_words_about_an_older_incarnation_change_nothing(situation: str) -> None:
    story = Story()
    SITUATIONS[situation](story)
    assert story.state.name == situation
    older = story.agent.run.incarnation - 1 if story.agent.run else story.agent.incarnation
    before = story.fleet
    story.decisions.clear()
    for event in about(older, "any") + about(older + 7, "any"):
        story.tell(event)
        assert story.fleet == before, event
        ends_what_begins_late = isinstance(event, AgentStarted) and event.incarnation == older
        assert story.actions == ([Kill("a", older)] if ends_what_begins_late else []), event
        story.decisions.clear()


@pytest.mark.parametrize("state", ["running", "stopping", "starting"])
def test_f_proc_3_a_record_of_another_run_is_not_believed(state: str) -> None:
    """An agent that was removed and added again counts its incarnations anew; its runs have other ids."""
    story = Story()
    SITUATIONS[state](story)
    before = story.fleet
    story.tell(AgentExited("a", story.run.incarnation, "another run", 0, None))
    story.tell(AgentStarted("a", story.run.incarnation, "another run", 7, 70))
    assert story.fleet == before


def test_words_about_an_unknown_agent_change_nothing() -> None:
    story = Story(spec("b"))
    before = story.fleet
    for event in about(0) + about(1):
        story.tell(event)
    assert story.fleet == before
    assert not story.decisions


# Readiness.


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


# Ends: TERM, KILL, fence; each step has a deadline, and none starts anything before the tree is known gone.


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


# Dead, and how that is known.


def test_f_proc_7_an_exit_record_within_the_grace_is_the_truth() -> None:
    story = Story().runs()
    story.pass_over(60)
    story.tell(AgentVanished("a", 1))
    story.wait(4.9)
    story.exited(0)
    assert isinstance(story.state, Stopped)


def test_f_proc_7_a_late_word_of_the_start_does_not_call_back_the_dead() -> None:
    story = Story().runs()
    story.tell(AgentVanished("a", 1))
    story.started()
    story.wait(5)
    assert story.of(Fence)


def test_the_word_of_the_start_said_twice_is_no_evidence() -> None:
    story = Story(claude()).works()
    story.pass_over(600)
    story.started()
    story.wait(300)
    assert isinstance(story.state, Stopping)


def test_f_proc_6_a_lost_shim_means_fence_then_restart() -> None:
    story = Story().runs()
    story.tell(ShimLost("a", 1))
    assert story.of(Fence) == [Fence("a", 1, story.run.run_id, 100, 1000)]
    assert not story.of(Kill)
    story.tree_gone()
    story.respawned()


def test_a_shim_lost_during_a_stop_is_fenced_at_once() -> None:
    story = Story().runs()
    story.stop()
    story.tell(ShimLost("a", 1))
    assert len(story.of(Fence)) == 1
    story.tree_gone()
    assert isinstance(story.state, Stopped)


# Recovery at daemon start.


def test_f_sy_1_a_living_run_is_adopted_and_nothing_is_started() -> None:
    story = Story(claude()).works()
    story.pass_over(890)
    story.tell(RunAdopted("a", 1, 100, 1000))
    # Evidence of the time before may be lost: one free interval.
    story.wait(899)
    assert isinstance(story.state, Running)
    assert len(story.of(Spawn)) == 1


@pytest.mark.parametrize("unwatched", [45.0, 0.0])
def test_p53_exit_zero_is_an_end_on_purpose_where_the_run_lived_on_while_no_daemon_did(unwatched: float) -> None:
    """Supervised time stands still meanwhile: by it the run would be one that failed at its start."""
    story = Story().runs()
    story.pass_over(3)
    story.wall += unwatched
    story.tell(RunAdopted("a", 1, 100, 1000))
    story.pass_over(5)
    story.exited(0)
    assert isinstance(story.state, Stopped) == (unwatched > 0), story.agent.reason


@pytest.mark.parametrize("lived", [4.0, 45.0])
@pytest.mark.parametrize("ends", ["after its adoption", "while no daemon did"])
@pytest.mark.parametrize("clock", [3600.0, -3600.0])
def test_p53_how_long_a_run_lived_while_no_daemon_did_does_not_hang_on_a_clock_that_was_set_meanwhile(
    lived: float, ends: str, clock: float
) -> None:
    story = Story().runs()
    story.pass_over(3)
    story.wall += lived - 3 + clock
    if ends == "after its adoption":
        story.tell(RunAdopted("a", 1, 100, 1000))
    story.exited(0, lived=lived, at_wall=None if ends == "after its adoption" else story.wall)
    assert isinstance(story.state, Stopped) == (lived == 45), story.agent.reason
    assert story.agent.last_exit is not None
    assert story.agent.last_exit.lived == lived


@pytest.mark.parametrize("moment", ["in flight", "before its first hook"])
def test_f_sy_1_a_starting_run_is_adopted(moment: str) -> None:
    story = Story(claude())
    story.start()
    if moment != "in flight":
        story.started()
        story.pass_over(29)
    story.tell(RunAdopted("a", 1, 100, 1000))
    story.wait(29)
    assert not any("no sign of life" in reason for reason in story.reasons)
    story.hook("session-start")
    assert isinstance(story.state, Running)


@pytest.mark.parametrize(("waited", "order"), [(0, Terminate), (5, Kill), (10, Kill)])
def test_f_sy_7_a_run_adopted_while_it_is_being_stopped_is_told_again(waited: float, order: type) -> None:
    story = Story().runs()
    story.stop()
    story.wait(waited)
    story.decisions.clear()
    story.tell(RunAdopted("a", 1, 100, 1000))
    assert [type(action) for action in story.actions] == [order]
    story.wait(20)
    assert story.of(Fence)


def test_f_sy_1_a_missing_run_is_fenced_before_anything_else() -> None:
    story = Story().runs()
    story.tell(RunMissing("a", 1))
    assert [type(action) for action in story.actions] == [Spawn, Fence]


def test_f_sy_5_after_a_reboot_the_desired_come_back_resume_first_and_the_stopped_do_not() -> None:
    story = Story(claude("a"), spec("b"), spec("c"))
    story.works()
    story.tell(StartRequested("b"))
    story.tell(AgentStarted("b", 1, "", 5, 50))
    story.tell(StopRequested("b"))
    story.decisions.clear()
    story.tell(Rebooted("another boot"))
    assert [(spawn.agent, spawn.mode.value, spawn.prompt.value) for spawn in story.of(Spawn)] == [
        ("a", "resume", "continue")
    ]
    assert story.agent.crashes == ()
    assert story.fleet.agents["b"].state == Stopped()
    assert story.fleet.agents["c"].desired is Desired.STOPPED


@pytest.mark.parametrize(
    ("code", "cause", "run_id", "after"),
    [
        (0, "exit", None, "stopped"),
        (1, "exit", None, "starting"),
        (0, "terminal_lost", None, "starting"),
        (0, "exit", "another", "starting"),
    ],
)
def test_p53_a_clean_end_that_only_its_record_tells_of_after_a_reboot_stays_down(
    code: int, cause: str, run_id: str | None, after: str
) -> None:
    story = Story(claude()).works()
    story.pass_over(60)
    run = story.agent.run
    assert run is not None
    end = AgentExited("a", run.incarnation, run_id or run.run_id, code, None, cause)
    story.tell(Rebooted("another boot", (end,)))
    assert story.agent.state.name == after
    assert story.agent.crashes == ()


def test_f_sy_5_a_reboot_is_no_fence_and_blames_nobody() -> None:
    story = Story(claude()).works()
    for boot in range(20):
        story.pass_over(1)
        story.tell(Rebooted(f"boot {boot}"))
        assert story.spawn.mode.value == "resume"
        story.works()
    assert not story.of(Fence)


@pytest.mark.parametrize("situation", ["backing_off", "stopped", "quarantined"])
def test_a_reboot_leaves_what_did_not_run_as_it_was(situation: str) -> None:
    story = Story()
    SITUATIONS[situation](story)
    before = story.fleet
    story.tell(Rebooted("other"))
    assert story.fleet == before


@pytest.mark.parametrize("situation", SITUATIONS)
def test_an_early_tick_is_harmless(situation: str) -> None:
    story = Story()
    SITUATIONS[situation](story)
    before = story.fleet
    story.tell(Tick())
    assert story.fleet == before


@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_decision_carries_its_reason(situation: str) -> None:
    for number in range(len(about(0))):
        story = Story()
        SITUATIONS[situation](story)
        run = story.agent.run
        story.tell(about(run.incarnation, run.run_id)[number] if run else Tick())
        story.wait(60)
        assert all(decision.reason for decision in story.decisions if decision.is_worth_keeping)
        assert story.agent.reason


def test_a_text_that_an_operator_sent_and_that_did_not_arrive_is_in_the_story() -> None:
    story = Story(claude("a"))
    story.lives(1, 1).runs()
    story.tell(SendRequested("a", "m1", "hello"))
    story.tell(SendRequested("a", "m2", "and this"))

    story.tell(NotDelivered("a", story.agent.incarnation, "m1", "the agent works"))

    told = story.decisions[-1]
    assert (told.reason, told.weight) == ("text not delivered: the agent works", "story")
    story.tell(Delivered("a", story.agent.incarnation, "m2", "hook"))
    assert story.decisions[-1].weight == "detail"
