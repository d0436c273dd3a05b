"""How the next run begins: resume first, fresh with the brief as fallback (X5, P45, P58, P62)."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Quarantined, Starting
from phoenixd.core.events.orders import AgentDeclared
from phoenixd.core.events.runs import StartFailed
from phoenixd.core.rules import LoopRules, RestartRules, ResumeRules
from phoenixd.core.spec import Kind
from tests.core.story import Story, claude, spec

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
