"""What follows a death: stay down, restart when and how, or give up (design section 3; X4, X5, 4.4, 4.5)."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from phoenixd.core import restart
from phoenixd.core.actions import Alert, Spawn
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import LastExit, Mode
from phoenixd.core.agent.state import BackingOff, Desired, Quarantined, Running, Starting, Stopped
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.orders import AgentDeclared
from phoenixd.core.events.runs import AgentVanished, ShimLost, StartFailed
from phoenixd.core.facts import RunEnded
from phoenixd.core.moment import measured
from phoenixd.core.rules import LoopRules, RestartPolicy, RestartRules, ResumeRules
from phoenixd.core.spec import Kind
from tests.core.story import Story, claude, spec

STAYS, AGAIN, GIVES_UP = Stopped, BackingOff | Starting, Quarantined


def policy(name: str, **changes: Any) -> RestartRules:
    return RestartRules(policy=RestartPolicy(name), **changes)


@pytest.mark.parametrize(
    ("kind", "code", "is_told"),
    [("resident", 0, True), ("resident", 130, False), ("resident", 1, False), ("orchestrator", 0, False),
     ("ephemeral", 0, False), ("loop", 0, False)],
)  # fmt: skip
def test_f_proc_10_a_start_that_failed_by_an_end_with_0_names_the_kind_of_a_job(
    kind: str, code: int, is_told: bool
) -> None:
    story = Story(spec(kind=Kind(kind), restart=policy("on-failure", max_crashes=1))).lives(3, code)

    assert ("--kind ephemeral" in story.agent.reason) == is_told, story.agent.reason
    assert restart.may_be_a_job(story.agent.spec, story.agent.last_exit) == is_told


@pytest.mark.parametrize(
    ("kind", "rule", "lived", "code", "signal", "becomes"),
    [
        # P53, F-PROC-2: exit 0 is an agent's own end, and what that means is a matter of its kind (X4).
        ("resident", "on-failure", 60, 0, None, STAYS),
        ("orchestrator", "on-failure", 60, 0, None, STAYS),
        ("ephemeral", "on-failure", 60, 0, None, STAYS),
        ("loop", "on-failure", 60, 0, None, AGAIN),
        # Kinds that end by design may do so at once; for the others it is a crash (F-PROC-10).
        ("ephemeral", "on-failure", 0.2, 0, None, STAYS),
        ("loop", "on-failure", 0.2, 0, None, AGAIN),
        ("resident", "on-failure", 9.9, 0, None, AGAIN),
        ("resident", "on-failure", 10, 0, None, STAYS),
        ("orchestrator", "on-failure", 9.9, 0, None, AGAIN),
        # F-PROC-5: an operator's Ctrl-C is clean, as 130 and as the signal.
        ("resident", "on-failure", 60, 130, None, STAYS),
        ("resident", "on-failure", 60, None, 2, STAYS),
        # X4: 137 and 143 are crashes unless a stop was asked for; so is every other code, and no code at all.
        ("resident", "on-failure", 60, 137, None, AGAIN),
        ("resident", "on-failure", 60, 143, None, AGAIN),
        ("resident", "on-failure", 60, None, 9, AGAIN),
        ("resident", "on-failure", 60, 1, None, AGAIN),
        ("resident", "on-failure", 60, None, None, AGAIN),
        ("ephemeral", "on-failure", 60, 1, None, AGAIN),
        # A program's own 124 or 125 (timeout, docker run) is an exit like any other.
        ("resident", "on-failure", 60, 124, None, AGAIN),
        ("loop", "on-failure", 60, 125, None, AGAIN),
        # E: an orchestrator asks to be recycled; for the others 100 and 101 are failures.
        ("orchestrator", "on-failure", 60, 100, None, AGAIN),
        ("orchestrator", "on-failure", 60, 101, None, AGAIN),
        # F-PROC-9: a command that cannot run is not tried again.
        ("resident", "on-failure", 0.1, 127, None, GIVES_UP),
        ("resident", "on-failure", 0.1, 126, None, GIVES_UP),
        ("loop", "on-failure", 0.1, 127, None, GIVES_UP),
        ("resident", "always", 60, 0, None, AGAIN),
        ("resident", "always", 60, 1, None, AGAIN),
        ("ephemeral", "always", 60, 0, None, STAYS),
        ("resident", "never", 60, 0, None, STAYS),
        ("resident", "never", 60, 1, None, STAYS),
        ("resident", "never", 1, 0, None, STAYS),
        ("resident", "never", 400, None, 9, STAYS),
        ("orchestrator", "never", 60, 100, None, STAYS),
        ("loop", "never", 60, 0, None, AGAIN),
        ("loop", "never", 60, 1, None, STAYS),
    ],
)
def test_x4_an_end_means_what_the_kind_and_the_policy_say(
    kind: str, rule: str, lived: float, code: int | None, signal: int | None, becomes: Any
) -> None:
    story = Story(spec(kind=Kind(kind), restart=policy(rule))).lives(lived, code, signal)
    assert isinstance(story.state, becomes), story.agent.reason
    # One word for one thing: a failed start is one that was never executed, as `since` counts it.
    assert "failed start" not in story.agent.reason
    assert story.agent.desired is (Desired.STOPPED if becomes is STAYS else Desired.RUNNING)


def test_p53_exit_zero_stays_down_for_ever() -> None:
    """F-PROC-5."""
    story = Story().lives(60, 0)
    story.wait(7 * 24 * 3600)
    assert isinstance(story.state, Stopped)
    assert len(story.of(Spawn)) == 1


def test_p55_a_crash_is_restarted_at_once() -> None:
    story = Story().lives(60, signal=9)
    assert isinstance(story.state, Starting)
    assert story.run.incarnation == 2


def test_f_proc_8_five_crashes_in_half_an_hour_are_the_end_and_one_alert() -> None:
    story = Story()
    for _ in range(4):
        story.lives(20, 1).respawned()
    story.lives(20, 1)
    assert isinstance(story.state, Quarantined)
    story.wait(24 * 3600)
    assert len(story.of(Spawn)) == 5
    assert story.alerts() == ["quarantined"]
    assert "5 crashes" in story.agent.reason
    assert story.agent.item is not None
    assert story.agent.item.kind == "quarantined"


def test_p59_the_window_slides_so_that_old_crashes_are_forgotten() -> None:
    story = Story(spec(restart=RestartRules(productive=600, max_unproductive=0)))
    for _ in range(40):
        # Four crashes in any half hour, for hours.
        story.lives(500, 1).respawned()
    assert len(story.agent.crashes) == 4


def test_p59_crashes_just_outside_the_period_do_not_count() -> None:
    rules = RestartRules(max_crashes=2, period=100.0)
    story = Story(spec(restart=rules)).lives(50, 1)
    story.runs()
    story.pass_over(100)
    story.exited(1)
    assert isinstance(story.state, Starting)
    story.lives(99.9, 1)
    assert isinstance(story.state, Quarantined)


def test_p59_a_productive_run_clears_the_history() -> None:
    story = Story()
    for _ in range(4):
        story.lives(1, 1).respawned()
    story.lives(300, 1)
    assert isinstance(story.state, Starting)
    assert story.agent.crashes == ()
    story.lives(1, 1)
    assert isinstance(story.state, Starting)


@pytest.mark.parametrize("lived", [299.9, 300.0])
def test_a_run_of_five_minutes_is_no_crash(lived: float) -> None:
    story = Story().lives(lived, 1)
    assert len(story.agent.crashes) == (1 if lived < 300 else 0)


@pytest.mark.parametrize(
    ("crashes", "ceiling"), [(1, 0), (2, 1), (3, 2), (4, 4), (6, 16), (10, 256), (11, 300), (99, 300)]
)
def test_4_5_backoff_doubles_from_one_second_to_three_hundred_with_full_jitter(crashes: int, ceiling: float) -> None:
    rules = RestartRules()
    assert restart.backoff(rules, crashes, 0.0) == 0.0
    assert restart.backoff(rules, crashes, 0.5) == ceiling / 2
    assert restart.backoff(rules, crashes, 1.0) == ceiling


def test_the_second_crash_waits_and_the_first_does_not() -> None:
    story = Story().lives(1, 1)
    assert isinstance(story.state, Starting)
    story.lives(1, 1)
    assert isinstance(story.state, BackingOff)
    assert story.state.until == story.at + 0.5
    story.wait(0.4)
    assert isinstance(story.state, BackingOff)
    story.wait(0.2)
    assert isinstance(story.state, Starting)


@pytest.mark.parametrize("message", ["not found", "no-such-agent: not found"])
def test_f_proc_9_the_quarantine_names_the_command(message: str) -> None:
    story = Story(spec(argv=("no-such-agent",)))
    story.start()
    story.tell(StartFailed("a", 1, 127, message))
    assert isinstance(story.state, Quarantined)
    assert story.agent.reason.count("no-such-agent") == 1
    assert len(story.of(Spawn)) == 1
    assert story.alerts() == ["quarantined"]


@pytest.mark.parametrize("code", [126, 127])
def test_a_productive_run_that_ends_with_127_was_no_missing_command(code: int) -> None:
    assert isinstance(Story().lives(600, code).state, Starting)


def test_f_res_8_an_order_that_cannot_be_carried_out_counts_as_a_crash() -> None:
    story = Story()
    story.start()
    for incarnation in range(1, 5):
        story.tell(StartFailed("a", incarnation, 1, "no such directory: /srv/shop"))
        story.respawned()
    story.tell(StartFailed("a", 5, 1, "no such directory: /srv/shop"))
    assert isinstance(story.state, Quarantined)
    assert "no such directory" in story.agent.reason


def test_f_res_8_a_missing_directory_is_named_and_no_run_is_called_dead() -> None:
    story = Story()
    story.start()
    for incarnation in range(1, 6):
        story.tell(StartFailed("a", incarnation, 1, "the directory /srv/shop is missing", "no directory"))
        if incarnation < 5:
            story.respawned()

    assert "could not start: the directory /srv/shop is missing: 5 failed starts in " in story.agent.reason
    ends = [fact.meaning for one in story.decisions for fact in one.facts if isinstance(fact, RunEnded)]
    assert ends == ["unstarted"] * 5
    (case,) = story.fleet.cases.cases
    assert (case.cause, case.detail, case.rule) == ("logic_error", "configuration", "its directory is missing")


def test_g38_an_iteration_at_its_maximum_run_time_is_ended_and_the_next_begins() -> None:
    story = Story(spec(kind=Kind.LOOP, loop=LoopRules(pause=10, max_runtime=60)))
    story.start()
    for _ in range(20):
        story.started()
        story.wait(60)
        story.exited(signal=15)
        assert story.agent.last_exit is not None
        assert story.agent.last_exit.code == 125
        assert isinstance(story.state, BackingOff)
        story.respawned()


def test_g38_residents_have_no_maximum_run_time() -> None:
    story = Story().runs()
    story.wait(30 * 24 * 3600)
    assert isinstance(story.state, Running)


@pytest.mark.parametrize("cause", ["terminal_lost", "shim_terminated"])
def test_f_tmux_2_what_the_terminal_does_counts_against_nobody(cause: str) -> None:
    """F-TMUX-3: a session that somebody killed is no stop, which is `phoenixctl stop`: it comes back, uncounted."""
    story = Story()
    for _ in range(12):
        story.runs()
        story.pass_over(20)
        story.exited(signal=9, cause=cause)
        assert isinstance(story.state, Starting), story.agent.reason
    assert story.agent.crashes == ()


@pytest.mark.parametrize("cause", ["terminal_lost", "shim_terminated"])
def test_a_host_that_ends_every_start_is_not_stormed(cause: str) -> None:
    """An agent that kills its own shim, or a terminal that dies at each start, must not spin."""
    story = Story()
    story.start()
    for _ in range(10):
        story.started()
        story.pass_over(0.1)
        story.exited(signal=9, cause=cause)
        assert isinstance(story.state, BackingOff)
        assert story.state.until >= story.at + restart.HOST_RETRY
        story.respawned()
    assert not isinstance(story.state, Quarantined)


def test_a_shim_that_dies_at_every_order_is_not_stormed() -> None:
    story = Story()
    story.start()
    for _ in range(5):
        story.tell(ShimLost("a", story.run.incarnation))
        story.tree_gone()
        assert isinstance(story.state, BackingOff)
        assert story.state.until >= story.at + restart.HOST_RETRY
        story.respawned()


def test_f_proc_6_a_lost_shim_with_a_living_agent_is_fenced_and_counted() -> None:
    story = Story().runs()
    story.pass_over(20)
    story.tell(ShimLost("a", 1))
    assert len(story.of(Spawn)) == 1
    story.tree_gone()
    assert len(story.of(Spawn)) == 2
    assert len(story.agent.crashes) == 1


# How the next run begins: resume first, fresh with the brief as fallback.


def test_p45_the_first_start_is_fresh_with_the_goal_and_the_next_resumes() -> None:
    story = Story(claude()).works()
    first = story.spawn
    assert (first.mode, first.prompt) == (Mode.FRESH, PromptKind.GOAL)
    story.pass_over(600)
    story.exited(signal=9)
    second = story.spawn
    assert second.mode is Mode.RESUME
    assert second.session_id == first.session_id
    assert second.run_id != first.run_id


@pytest.mark.parametrize(("turn", "prompt"), [("open", PromptKind.CONTINUE), ("closed", PromptKind.NONE)])
def test_back_at_work_a_turn_open_at_death_is_continued_and_an_idle_one_is_left_alone(
    turn: str, prompt: PromptKind
) -> None:
    story = Story(claude()).works()
    if turn == "closed":
        story.hook("stop")
    story.pass_over(600)
    story.exited(signal=9)
    assert (story.spawn.mode, story.spawn.prompt) == (Mode.RESUME, prompt)


def died(story: Story, lived: float, *, evidence: bool = True, session: bool = True, killed: bool = False) -> None:
    """One run that dies after `lived` seconds, by itself or by somebody's SIGKILL."""
    story.started()
    if session:
        story.hook("session-start", session_id=story.run.session_id)
    if evidence:
        story.hook("tool-start", tool="Read")
    story.pass_over(lived)
    story.exited(None if killed else 1, 9 if killed else None)
    story.respawned()


@pytest.mark.parametrize(
    ("lived", "evidence", "session", "fresh"),
    [
        (600, True, True, None),
        (1.9, True, True, "after a resume"),
        (20, True, False, None),
        (20, False, False, "refused"),
        (20, False, True, "without any work"),
        (600, False, True, "without any work"),
    ],
)
def test_x5_a_resume_that_was_refused_or_did_no_work_is_not_tried_again(
    lived: float, evidence: bool, session: bool, fresh: str | None
) -> None:
    story = Story(claude(restart=RestartRules(max_crashes=100)))
    story.start()
    died(story, 600)
    assert story.spawn.mode is Mode.RESUME
    bad = story.spawn.session_id
    died(story, lived, evidence=evidence, session=session)
    assert story.spawn.mode is (Mode.RESUME if fresh is None else Mode.FRESH)
    if fresh is not None:
        assert story.spawn.session_id != bad
        assert any(fresh in reason for reason in story.reasons), story.reasons[-3:]


@pytest.mark.parametrize("lived", [0.5, 1.9, 20, 100])
@pytest.mark.parametrize("evidence", [True, False])
def test_p45_whoever_kills_a_resumed_agent_again_says_nothing_of_its_session(lived: float, evidence: bool) -> None:
    """A person who kills it twice within seconds had its whole context given up."""
    story = Story(claude(restart=RestartRules(max_crashes=100)))
    story.start()
    died(story, 20, killed=True)
    session = story.spawn.session_id
    assert story.spawn.mode is Mode.RESUME
    died(story, lived, killed=True, evidence=evidence)
    silent = not evidence and lived >= story.agent.spec.resume.window
    assert (story.spawn.mode is Mode.FRESH) is silent, "a resume that did nothing in its whole window is no good"
    assert (story.spawn.session_id == session) is not silent


def test_p45_a_session_in_which_nothing_was_said_is_not_gone_back_to_whoever_killed_it() -> None:
    story = Story(claude())
    story.start()
    died(story, 20, evidence=False, killed=True)
    assert story.spawn.mode is Mode.FRESH


def test_p45_f_cl_7_of_an_agent_that_is_killed_again_and_again_a_fresh_session_is_tried() -> None:
    """It may be killed for what its session makes it hold, by a guard of the host's memory say."""
    story = Story(claude())
    story.start()
    modes = []
    for _ in range(3):
        died(story, 20, killed=True)
        modes.append(story.spawn.mode)
    assert modes == [Mode.RESUME, Mode.RESUME, Mode.FRESH]
    assert any("killed from outside again and again" in reason for reason in story.reasons)


@pytest.mark.parametrize("prompted", [True, False])
@pytest.mark.parametrize(("turn", "prompt"), [("open", PromptKind.CONTINUE), ("closed", PromptKind.NONE)])
def test_back_at_work_the_fresh_session_after_three_kills_goes_on_with_what_no_run_took_up(
    prompted: bool, turn: str, prompt: PromptKind
) -> None:
    """The runs in between were killed before they did anything: by their own word they were idle."""
    story = Story(claude() if prompted else spec("a"))
    story.works()
    if turn == "closed":
        story.hook("stop")
    story.pass_over(20)
    story.exited(signal=9)
    for _ in range(2):
        story.respawned()
        story.started()
        story.hook("session-start", session_id=story.run.session_id, source="resume")
        story.pass_over(20)
        story.exited(signal=9)
    story.respawned()
    assert (story.spawn.mode, story.spawn.prompt) == (Mode.FRESH, prompt)
    assert any("killed from outside again and again" in reason for reason in story.reasons)


def test_back_at_work_what_a_fresh_session_was_to_go_on_with_is_not_forgotten_by_its_death() -> None:
    """Its CLI gives the session a name of its own, and dies before it took up its prompt."""
    story = Story(spec("a", restart=RestartRules(max_crashes=100)))
    story.works()
    for _ in range(4):
        story.pass_over(20)
        story.exited(signal=9)
        story.respawned()
        story.started()
        story.hook("session-start", session_id=f"its own {story.run.incarnation}", source="startup")
    assert story.run.prompt is PromptKind.CONTINUE
    story.hook("prompt-submit", text="go on")
    story.hook("stop")
    story.pass_over(20)
    story.exited(signal=9)
    story.respawned()
    assert story.spawn.prompt is PromptKind.NONE, "it took it up, and its turn came to its end"


def test_p45_a_run_that_the_kernel_killed_for_its_own_memory_counts_against_its_session() -> None:
    story = Story(claude(restart=RestartRules(max_crashes=100)))
    story.start()
    for _ in range(2):
        story.started()
        story.hook("session-start", session_id=story.run.session_id)
        story.hook("tool-start", tool="Read")
        story.pass_over(20)
        story.exited(signal=9, oom="agent")
        story.respawned()
    assert story.spawn.mode is Mode.FRESH


def test_p58_the_second_short_run_in_a_row_spoils_the_session() -> None:
    story = Story(claude(restart=RestartRules(max_crashes=100)))
    story.start()
    died(story, 100)
    assert story.spawn.mode is Mode.RESUME
    died(story, 100)
    assert story.spawn.mode is Mode.FRESH
    assert story.spawn.prompt is PromptKind.CONTINUE


@pytest.mark.parametrize(("productive", "told"), [(300, "5 min"), (600, "10 min"), (90, "90 s")])
def test_p58_the_reason_tells_the_length_that_is_configured(productive: float, told: str) -> None:
    story = Story(claude(restart=RestartRules(max_crashes=100, productive=productive)))
    story.start()
    for _ in range(2):
        died(story, productive / 2)
    assert any(f"two runs in a row lived under {told}" in reason for reason in story.reasons)


def test_p58_a_long_run_between_two_short_ones_keeps_the_session() -> None:
    story = Story(claude(restart=RestartRules(max_crashes=100)))
    story.start()
    for lived in (100, 600, 100):
        died(story, lived)
        assert story.spawn.mode is Mode.RESUME


@pytest.mark.parametrize("end", [{"signal": 9}, {"signal": 9, "cause": "terminal_lost"}])
def test_p58_a_long_run_stands_between_two_short_ones_whoever_ended_it(end: dict[str, Any]) -> None:
    """How it ended is no word about its session, and that it lived is one."""
    story = Story(claude(restart=RestartRules(max_crashes=100)))
    story.start()
    died(story, 100)
    story.started()
    story.hook("session-start", session_id=story.run.session_id)
    story.hook("tool-start", tool="Read")
    story.pass_over(5 * 3600)
    story.exited(**end)
    story.respawned()
    died(story, 100)
    assert story.spawn.mode is Mode.RESUME


def test_f_res_1_a_resume_refused_within_seconds_is_followed_by_fresh_at_once() -> None:
    story = Story(claude())
    story.start()
    died(story, 600)
    story.started()
    story.pass_over(1.5)
    story.exited(1)
    assert isinstance(story.state, Starting)
    assert story.spawn.mode is Mode.FRESH


def test_a_cli_that_refuses_a_resume_with_exit_zero_gets_a_fresh_start_too() -> None:
    story = Story(claude())
    story.start()
    died(story, 600)
    story.started()
    story.pass_over(1.5)
    story.exited(0)
    assert story.spawn.mode is Mode.FRESH


def test_f_res_3_hung_twice_in_one_session_goes_fresh() -> None:
    story = Story(claude()).works()
    for expected in (Mode.RESUME, Mode.FRESH):
        story.wait(900)
        assert story.state.name == "stopping"
        story.exited(143)
        assert story.spawn.mode is expected
        story.started()
        story.hook("session-start", session_id=story.run.session_id)
        story.hook("prompt-submit", text="continue")


def test_f_res_3_a_programs_own_124_is_no_hang() -> None:
    story = Story(claude()).works()
    for _ in range(3):
        story.pass_over(600)
        story.exited(124)
        assert story.spawn.mode is Mode.RESUME
        story.works()


def test_x5_a_session_that_was_last_active_over_a_day_ago_is_not_resumed() -> None:
    story = Story(claude()).works()
    story.stop()
    story.exited(143)
    story.pass_over(24 * 3600 + 1)
    story.start()
    assert story.spawn.mode is Mode.FRESH


@pytest.mark.parametrize(("hours", "told"), [(24, "24 h"), (2, "2 h"), (0.5, "30 min")])
def test_x5_the_reason_tells_the_age_that_is_configured(hours: float, told: str) -> None:
    story = Story(claude(resume=ResumeRules(max_age=hours * 3600))).works()
    story.stop()
    story.exited(143)
    story.pass_over(hours * 3600 + 1)
    story.start()
    assert any(f"the session was last active over {told} ago" in reason for reason in story.reasons)


@pytest.mark.parametrize("hours", [1, 23.9])
def test_x5_a_younger_session_is_resumed(hours: float) -> None:
    story = Story(claude()).works()
    story.stop()
    story.exited(143)
    story.pass_over(hours * 3600)
    story.start()
    assert story.spawn.mode is Mode.RESUME


def test_p49_an_agent_that_does_not_resume_starts_fresh_with_its_brief() -> None:
    story = Story(claude(resume=ResumeRules(enabled=False))).works()
    story.pass_over(600)
    story.exited(signal=9)
    assert (story.spawn.mode, story.spawn.prompt) == (Mode.FRESH, PromptKind.CONTINUE)


@pytest.mark.parametrize(("session", "mode"), [("fresh", Mode.FRESH), ("resume", Mode.RESUME)])
def test_every_iteration_of_a_loop_is_told_the_goal(session: str, mode: Mode) -> None:
    story = Story(claude(kind=Kind.LOOP, loop=LoopRules(session=session))).works()
    for turn_ended in (True, False, True):
        if turn_ended:
            story.hook("stop")
        story.pass_over(400)
        story.exited(0)
        story.respawned()
        assert (story.spawn.mode, story.spawn.prompt) == (mode, PromptKind.GOAL)
        story.works()


@pytest.mark.parametrize("operation", ["stop", "restart", "apply"])
def test_an_operators_end_says_nothing_about_the_session(operation: str) -> None:
    """However often and however soon an operator ends the agent, the conversation is kept."""
    story = Story(claude()).works()
    first = story.spawn.session_id
    for number in range(6):
        story.pass_over(1)
        if operation == "apply":
            story.tell(AgentDeclared(claude(cwd=f"/srv/{number}")))
        else:
            getattr(story, operation)()
        story.exited(143)
        if operation == "stop":
            story.start()
        assert (story.spawn.mode, story.spawn.session_id) == (Mode.RESUME, first)
        # Sometimes it is ended before it has said anything at all.
        story.started()
        if number % 2:
            story.hook("session-start", session_id=first)


@pytest.mark.parametrize(("code", "state"), [(0, BackingOff), (1, Starting), (127, Quarantined)])
def test_a_start_that_never_executed_is_told_the_goal_again(code: int, state: Any) -> None:
    story = Story(claude())
    story.start()
    story.tell(StartFailed("a", 1, code, "no"))
    assert isinstance(story.state, state)
    story.start()
    story.respawned()
    assert (story.spawn.mode, story.spawn.prompt) == (Mode.FRESH, PromptKind.GOAL)


@pytest.mark.parametrize("code", [0, 1, 126])
def test_a_resume_that_never_executed_leaves_the_session_good(code: int) -> None:
    story = Story(claude()).works()
    first = story.spawn.session_id
    story.pass_over(600)
    story.exited(signal=9)
    story.tell(StartFailed("a", 2, code, "no"))
    story.start()
    story.respawned()
    assert (story.spawn.mode, story.spawn.prompt) == (Mode.RESUME, PromptKind.CONTINUE)
    assert story.spawn.session_id == first


def test_p62_fresh_is_a_clean_slate_with_the_goal() -> None:
    """P48: one command leaves a confused session behind."""
    story = Story(claude()).works()
    first = story.spawn.session_id
    story.restart(fresh=True)
    story.exited(143)
    assert (story.spawn.mode, story.spawn.prompt) == (Mode.FRESH, PromptKind.GOAL)
    assert story.spawn.session_id != first


@pytest.mark.parametrize("asked_again", ["start", "restart"])
def test_p62_fresh_outlives_a_start_that_failed_and_a_second_request(asked_again: str) -> None:
    story = Story(claude()).works()
    first = story.spawn.session_id
    story.restart(fresh=True)
    getattr(story, asked_again)()
    story.exited(143)
    story.tell(StartFailed("a", 2, 0, "the tmux server does not answer"))
    story.start()
    story.respawned()
    assert (story.spawn.mode, story.spawn.prompt) == (Mode.FRESH, PromptKind.GOAL)
    assert story.spawn.session_id != first


def test_p60_every_run_has_an_id_of_its_own() -> None:
    story = Story(spec(restart=RestartRules(max_crashes=100, max_unproductive=0)))
    for _ in range(30):
        story.lives(1, 1).respawned()
    spawns = story.of(Spawn)
    assert len({spawn.run_id for spawn in spawns}) == len(spawns) == 31
    assert [spawn.incarnation for spawn in spawns] == list(range(1, 32))


def test_a_run_that_went_on_while_nobody_watched_has_lived_that_long() -> None:
    """Exit 0 an hour after the daemon died is no failed start, although supervised time stood still."""
    story = Story().runs()
    story.pass_over(2)
    ended = story.wall + 3600
    story.wall += 7200
    story.exited(0, at_wall=ended)
    assert isinstance(story.state, Stopped)
    assert story.agent.last_exit is not None
    assert story.agent.last_exit.lived == pytest.approx(3602)
    assert story.agent.last_exit.at_wall == ended


def test_a_wall_clock_that_was_set_back_does_not_shorten_a_life() -> None:
    story = Story().runs()
    story.pass_over(60)
    story.exited(0, at_wall=story.wall - 1e6)
    assert isinstance(story.state, Stopped)


def test_f_proc_7_without_an_exit_record_it_is_a_crash_after_the_grace() -> None:
    story = Story().runs()
    story.pass_over(60)
    story.tell(AgentVanished("a", 1))
    assert len(story.of(Spawn)) == 1
    story.wait(5)
    assert story.state.name == "stopping"
    story.tree_gone()
    assert story.run.incarnation == 2
    assert story.agent.last_exit is not None
    assert (story.agent.last_exit.code, story.agent.last_exit.signal) == (None, None)


def test_last_exit_in_words() -> None:
    def text(code: int | None, number: int | None) -> str:
        return LastExit(1, code, number, "exit", 1.0, 0.0).text

    assert (text(1, None), text(None, 9), text(None, None)) == ("exit 1", "SIGKILL", "unknown status")
    assert text(None, signal.SIGRTMIN + 1) == f"signal {signal.SIGRTMIN + 1}", "it has no name of its own"
    assert {one: text(None, one) for one in signal.Signals if one < 32} == {
        one: one.name for one in signal.Signals if one < 32
    }


def test_an_alert_is_sent_once_however_long_a_quarantine_lasts() -> None:
    story = Story(spec(restart=RestartRules(max_crashes=1))).lives(1, 1)
    for _ in range(50):
        story.pass_over(600)
        story.tell(Tick())
    assert len(story.of(Alert)) == 1


# E: exit 100 and 101 ask for a fresh start, and are no crash.


@pytest.mark.parametrize("code", [100, 101])
@pytest.mark.parametrize("kind", ["resident", "orchestrator", "ephemeral", "loop"])
def test_exit_100_and_101_are_a_fresh_start_with_the_brief_and_no_crash(kind: str, code: int) -> None:
    story = Story(claude(kind=Kind(kind))).works()
    first = story.spawn.session_id
    story.hook("tool-end", tool="Bash")
    story.hook("stop")
    story.pass_over(60)
    story.exited(code)
    story.respawned()
    assert story.agent.crashes == ()
    assert story.spawn.mode is Mode.FRESH
    assert story.spawn.session_id != first
    assert story.spawn.prompt is (PromptKind.GOAL if kind == "loop" else PromptKind.CONTINUE)
    assert any("asks to be recycled" in reason for reason in story.reasons)


def test_a_session_that_asked_to_be_recycled_is_never_gone_back_to() -> None:
    story = Story(claude(kind=Kind.ORCHESTRATOR)).works()
    first = story.spawn.session_id
    story.exited(100)
    story.respawned()
    story.stop()
    story.exited(143)
    story.start()
    assert first not in [spawn.session_id for spawn in story.of(Spawn)[1:]]


def test_who_asks_to_be_recycled_within_moments_waits_each_time_also_where_it_has_something_to_show() -> None:
    story = Story(claude()).works()
    story.hook("tool-end", tool="Bash")
    story.hook("stop")
    story.pass_over(1)
    story.exited(100)
    assert isinstance(story.state, BackingOff)
    assert story.state.until - story.at >= restart.HOST_RETRY


def test_who_does_nothing_but_ask_to_be_recycled_is_slowed_down_and_given_up() -> None:
    """A Rust program that panics exits with 101 as well."""
    story = Story(spec())
    waits = []
    while not isinstance(story.state, Quarantined):
        story.lives(1, 101)
        waits.append(story.state.until - story.at if isinstance(story.state, BackingOff) else 0.0)
        if not isinstance(story.state, Quarantined):
            story.respawned()
    assert len(story.of(Spawn)) == 8
    assert waits[0] == 0.0
    assert waits[2:6] == sorted(waits[2:6])
    assert waits[5] > 1


# F-PROC-24: killed for want of memory.


def test_f_proc_24_at_its_own_limit_is_a_crash_that_names_it() -> None:
    story = Story().runs()
    story.pass_over(20)
    story.exited(signal=9, oom="agent")
    assert len(story.agent.crashes) == 1
    assert "SIGKILL, out of memory: it reached its own limit" in story.agent.reason or any(
        "SIGKILL, out of memory: it reached its own limit" in reason for reason in story.reasons
    )


def test_f_proc_24_of_the_whole_host_counts_against_nobody_and_waits_a_little() -> None:
    story = Story(claude())
    for _ in range(12):
        story.works()
        story.pass_over(600)
        story.exited(signal=9, oom="host")
        assert isinstance(story.state, BackingOff)
        assert story.state.until >= story.at + restart.HOST_RETRY
        assert "the host had none left" in story.agent.reason
        story.respawned()
    assert story.agent.crashes == story.agent.record.unproductive == ()


def test_f_proc_24_a_kill_of_ours_is_no_matter_of_memory() -> None:
    story = Story().runs()
    story.stop()
    story.exited(signal=9, oom="agent")
    assert story.agent.last_exit is not None
    assert story.agent.last_exit.oom == ""


def test_when_the_next_start_is_due_is_said_by_the_decision_and_not_by_the_reason_of_the_state() -> None:
    """A row shows how long that still is: a time in its reason would be another one, and go stale."""
    story = Story(claude()).lives(1, 1).lives(1, 1)

    assert isinstance(story.state, BackingOff)
    assert f"{story.agent.reason}, in {measured(story.state.until - story.at)}" in story.reasons
