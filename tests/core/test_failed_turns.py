"""Turns that end with an error, and runs that end after one: what a person alone can fix is asked (F-PROC-26, -27)."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import Spawn
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Desired, Running, Stopped
from phoenixd.core.events.orders import StartRequested
from phoenixd.core.limits.state import ParkingKind
from phoenixd.core.rules import LoopRules
from phoenixd.core.spec import Kind
from phoenixd.core.treatment.authority import AuthorityRules, ClinicRules
from tests.core.story import Story, claude
from tests.core.test_session import activity, waits

# The turn ended with an error (F-PROC-26): what only a person can fix is asked of one.


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("authentication_failed", "login"),
        ("oauth_org_not_allowed", "login"),
        ("billing_error", "billing"),
        ("invalid_request", "failed turn"),
        ("max_output_tokens", "failed turn"),
        ("model_not_found", "failed turn"),
        ("a word of the agent's own", "failed turn"),
        (None, "failed turn"),
    ],
)
def test_f_proc_26_errors_that_only_a_person_can_mend_are_told_and_nothing_is_killed(
    error: str | None, kind: str | None
) -> None:
    story = Story(claude()).works()
    story.hook("stop-failure", error=error)
    assert waits(story) == kind
    assert story.alerts() == ([kind] if kind else [])
    assert not activity(story).turn_open
    story.wait(24 * 3600)
    assert isinstance(story.state, Running)


@pytest.mark.parametrize("error", ["max_output_tokens", "model_not_found", "a word\nthat no table knows " + "x" * 300])
def test_a_failed_turn_of_any_word_is_an_item_until_the_next_prompt(error: str) -> None:
    story = Story(claude()).works()
    story.hook("stop-failure", error=error, text="The response exceeded the limit.")
    item = story.agent.item
    assert item is not None
    assert (item.kind, item.answer_by) == ("failed turn", "attach")
    assert item.text.startswith(" ".join(error.split())[:64])
    assert item.text.endswith(": The response exceeded the limit.")
    story.hook("notification", notification="idle_prompt")
    assert story.agent.item == item
    story.hook("prompt-submit", text="shorter, please")
    assert story.agent.item is None
    assert waits(story) is None


def test_a_failed_turn_of_a_subagent_is_its_own_matter() -> None:
    story = Story(claude()).works()
    story.hook("stop-failure", error="max_output_tokens", sub=True)
    assert story.agent.item is None


def test_a_run_that_dies_after_a_failed_turn_is_gone_on_with_and_not_left_idle() -> None:
    story = Story(claude()).works()
    story.hook("stop-failure", error="max_output_tokens")
    story.pass_over(600)
    story.exited(signal=9)
    assert story.of(Spawn)[-1].prompt is PromptKind.CONTINUE


@pytest.mark.parametrize(
    ("kind", "error", "left", "mode"),
    [
        (Kind.LOOP, "invalid_request", False, Mode.FRESH),
        (Kind.RESIDENT, "invalid_request", False, Mode.FRESH),
        (Kind.LOOP, None, False, Mode.RESUME),
        # A limit is no fault of the session, and what a person has left may be gone on with.
        (Kind.LOOP, "rate_limit", False, Mode.RESUME),
        (Kind.RESIDENT, "invalid_request", True, Mode.RESUME),
    ],
)
def test_f_proc_27_exit_0_with_a_last_turn_that_failed_keeps_no_session(
    kind: Kind, error: str | None, left: bool, mode: Mode
) -> None:
    story = Story(claude(kind=kind, prompt="goal", loop=LoopRules(session="resume"))).works()
    story.hook("stop") if error is None else story.hook("stop-failure", error=error)
    story.pass_over(60)
    if left:
        story.hook("session-end", source="prompt_input_exit")
    story.exited(0)
    story.tell(StartRequested("a")) if kind is Kind.RESIDENT else story.wait(7200)

    assert [one.mode for one in story.of(Spawn)][1] is mode


@pytest.mark.parametrize("kind", [Kind.RESIDENT, Kind.LOOP])
@pytest.mark.parametrize("cause", ["terminal_lost", "shim_terminated"])
def test_f_proc_27_a_lost_terminal_says_nothing_of_the_session_whose_last_turn_failed(kind: Kind, cause: str) -> None:
    """Its program ended with 0 because of that, not by itself. What a clinic makes of the turn is another matter."""
    watches = ClinicRules(AuthorityRules(fresh="observe"))
    story = Story(claude(kind=kind, prompt="goal", loop=LoopRules(session="resume"), clinic=watches)).works()
    story.hook("stop-failure", error="invalid_request")
    story.pass_over(60)
    story.exited(0, cause=cause)
    story.wait(1)

    agent = story.agent
    assert agent.session is not None
    assert agent.last_exit is not None
    assert (agent.session.spoiled, agent.last_exit.failed_turn) == (None, False)
    assert (story.spawn.mode, story.spawn.prompt) == (Mode.RESUME, PromptKind.CONTINUE)


@pytest.mark.parametrize("kind", [Kind.RESIDENT, Kind.ORCHESTRATOR])
@pytest.mark.parametrize(
    ("word", "left", "code", "state"),
    [
        ("invalid_request", False, 0, "starting"),
        # A person who leaves after a turn that failed means to leave.
        ("invalid_request", True, 0, "stopped"),
        ("invalid_request", False, 130, "stopped"),
        (None, False, 0, "stopped"),
        # Only a person can fix these, and each further start would be refused alike.
        ("authentication_failed", False, 0, "quarantined"),
        ("billing_error", False, 0, "quarantined"),
        ("rate_limit", False, 0, "parked"),
        ("rate_limit", True, 0, "stopped"),
    ],
)
def test_f_proc_27_exit_0_after_a_turn_that_failed_is_no_end_on_purpose(
    kind: Kind, word: str | None, left: bool, code: int, state: str
) -> None:
    story = Story(claude(kind=kind)).works()
    story.hook("stop") if word is None else story.hook("stop-failure", error=word)
    story.pass_over(600)
    if left:
        story.hook("session-end", source="prompt_input_exit")
    story.exited(code)
    story.wait(1)
    assert story.agent.state_name == state
    assert (story.agent.desired is Desired.STOPPED) == (state == "stopped")


@pytest.mark.parametrize("error", ["invalid_request", "rate_limit"])
def test_f_proc_27_where_nothing_tells_whether_a_person_left_it_the_end_stays_one_on_purpose(error: str) -> None:
    """The Gemini CLI says `exit`, and ends with 0, when a person types /quit and when a signal ends it."""
    story = Story(claude(harness="gemini")).works()
    story.hook("stop-failure", error=error)
    story.pass_over(600)
    story.hook("session-end", source="exit")
    story.exited(0)
    story.wait(1)
    assert (story.agent.state_name, story.agent.desired) == ("stopped", Desired.STOPPED)


def test_f_proc_27_a_prompt_after_the_turn_that_failed_makes_exit_0_an_end_on_purpose_again() -> None:
    story = Story(claude()).works()
    story.hook("stop-failure", error="invalid_request")
    story.hook("prompt-submit", text="Leave it.")
    story.hook("stop")
    story.pass_over(600)
    story.exited(0)
    assert story.agent.reason == "exit 0: ended on purpose"


def test_f_proc_27_runs_that_fail_and_end_with_0_over_and_over_are_given_up() -> None:
    """By the restart rules alone; a clinic that may act gives up earlier."""
    story = Story(claude(clinic=ClinicRules(AuthorityRules(abort="observe"))))
    for _ in range(5):
        story.works()
        story.hook("stop-failure", error="invalid_request")
        story.pass_over(60)
        story.exited(0)
        if isinstance(story.state, BackingOff):
            story.respawned()
    assert story.agent.state_name == "quarantined"
    assert "its last turn failed, and it ended with exit 0 after 1 min: 5 crashes" in story.agent.reason


def test_f_proc_27_whoever_stops_an_agent_whose_turn_failed_has_it_stopped() -> None:
    story = Story(claude()).works()
    story.hook("stop-failure", error="invalid_request")
    story.stop()
    story.exited(0)
    assert isinstance(story.state, Stopped)
    assert not story.state.failed
    assert story.agent.last_exit is not None
    assert not story.agent.last_exit.failed_turn


@pytest.mark.parametrize("error", ["unknown", "server_error", "overloaded", "rate_limit"])
def test_claudes_own_unknown_parks_where_nothing_more_is_known(error: str) -> None:
    story = Story(claude()).works()
    story.hook("stop-failure", error=error)
    assert (story.agent.state_name, story.agent.item) == ("parked", None)


def test_f_proc_26_claudes_own_unknown_parks_nobody_where_the_api_refused_the_request_and_a_person_is_asked() -> None:
    """As recorded of 2.1.197: the same request would be refused again, after however long a wait."""
    story = Story(claude()).works()
    story.hook("stop-failure", error="unknown", text="API Error: 400 tools.14.custom.input_schema: it is invalid.")
    assert (waits(story), story.alerts(), story.agent.parking) == ("failed turn", ["failed turn"], None)


def test_f_proc_26_claudes_own_unknown_parks_until_the_end_of_a_limit_that_its_sentence_names() -> None:
    """As recorded of 2.1.330: the limit of a workspace has HTTP status 400, and no class."""
    story = Story(claude()).works()
    until = story.wall + 7200
    story.hook("stop-failure", error="unknown", text="API Error: 400 You will regain access.", reset_wall=until)
    assert story.agent.parking is not None
    assert (story.agent.parking.kind, story.agent.parking.until_wall > until) == (ParkingKind.LIMIT, True)


def test_f_proc_26_a_login_is_still_asked_for_when_the_prompt_is_idle() -> None:
    story = Story(claude()).works()
    story.hook("stop-failure", error="authentication_failed")
    story.hook("notification", notification="idle_prompt")
    assert waits(story) == "login"
    story.hook("prompt-submit", text="again")
    assert waits(story) is None
