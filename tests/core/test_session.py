"""Session, turn, prompts and dialogs, as hooks and the screen tell of them (P70, F-RES, F-PROC-16, F-PROC-26)."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import Alert, LookAtScreen, Spawn, Terminate
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Desired, Running, Starting, Stopped, Stopping
from phoenixd.core.events.evidence import EvidenceSeen, ScreenSeen
from phoenixd.core.events.orders import StartRequested
from phoenixd.core.limits.state import ParkingKind
from phoenixd.core.rules import LoopRules
from phoenixd.core.spec import Kind
from phoenixd.core.treatment.authority import AuthorityRules, ClinicRules
from phoenixd.core.turn.calls import MAX_LEASES
from phoenixd.core.waiting import MAX_TEXT
from tests.core.story import Story, claude, spec


def activity(story: Story):
    assert isinstance(story.state, Running | Stopping)
    return story.state.activity


def waits(story: Story) -> str | None:
    """What the agent waits for; its inbox item must say the same."""
    waiting = activity(story).waiting
    item = story.agent.item
    assert (item and item.kind) == (waiting and waiting.kind)
    return waiting.kind if waiting else None


# Turns (P70): working only during a turn.


@pytest.mark.parametrize(
    ("hooks", "open_"),
    [
        ((), False),
        (("prompt-submit",), True),
        (("prompt-submit", "tool-start"), True),
        (("prompt-submit", "tool-start", "tool-end"), True),
        (("prompt-submit", "stop"), False),
        (("prompt-submit", "stop-failure"), False),
        (("prompt-submit", "stop", "tool-start"), True),
        (("prompt-submit", "pre-compact", "compacted"), True),
        (("stop", "prompt-submit"), True),
        (("prompt-submit", "session-end"), True),
    ],
)
def test_p70_a_turn_is_open_from_prompt_to_stop(hooks: tuple[str, ...], open_: bool) -> None:
    story = Story(claude(prompt=None)).runs()
    for kind in hooks:
        story.hook(kind)
    assert activity(story).turn_open is open_


@pytest.mark.parametrize(
    ("prompt", "kind", "open_"),
    [(None, "resident", False), ("goal", "resident", True), (None, "loop", True), (None, "ephemeral", True)],
)
def test_g50_a_run_that_was_told_something_begins_with_an_open_turn(prompt: str | None, kind: str, open_: bool) -> None:
    story = Story(spec(prompt=prompt, kind=Kind(kind))).runs()
    assert activity(story).turn_open is open_


def test_f_proc_14_the_idle_prompt_ends_a_turn_that_a_person_broke_off() -> None:
    story = Story(claude()).works()
    story.hook("tool-start", tool="Bash", tool_use_id="t1", lease=3600)
    # Esc: no tool-end, no stop; a minute later the prompt waits.
    story.hook("notification", notification="idle_prompt")
    assert not activity(story).turn_open
    story.wait(24 * 3600)
    assert isinstance(story.state, Running)


def test_a_subagents_stop_does_not_end_the_turn() -> None:
    story = Story(claude()).works()
    for kind in ("stop", "prompt-submit", "session-start", "subagent-stop"):
        story.hook(kind, sub=True, session_id="another")
    assert activity(story).turn_open
    assert story.run.session_id != "another"


def test_hooks_that_the_shim_sends_again_change_nothing() -> None:
    """After a daemon restart all that was not acknowledged comes again, and a prompt must not reopen a closed turn."""
    story = Story(claude()).runs()
    sent = [("prompt-submit", "Build the shop."), ("stop", ""), ("prompt-submit", "Now the tests."), ("stop", "")]
    for seq, (kind, text) in enumerate(sent, start=7):
        story.hook(kind, text=text, seq=seq)
    before = story.fleet
    story.pass_over(60)
    for seq, (kind, text) in enumerate(sent, start=7):
        story.hook(kind, text=text, seq=seq)
        assert story.fleet == before
    story.hook("prompt-submit", text="And now?", seq=11)
    assert story.agent.last_prompt == "And now?"


# The session.


def test_f_res_5_a_new_session_id_is_the_one_to_resume() -> None:
    story = Story(claude()).works()
    story.hook("session-end", source="clear")
    story.hook("session-start", session_id="new-id", source="clear")
    story.pass_over(600)
    story.exited(signal=9)
    assert (story.spawn.mode, story.spawn.session_id) == (Mode.RESUME, "new-id")


def test_f_res_5_of_two_sessions_that_began_in_one_run_the_one_that_takes_a_prompt_is_resumed() -> None:
    """A Left arrow starts two more in the CLI's own daemon, one of them a spare; a new renderer starts one."""
    story = Story(claude()).works()
    own = story.run.session_id
    story.hook("stop")
    looks = len(story.of(LookAtScreen))
    for other in ("moved", "spare"):
        story.hook("session-start", session_id=other, source="startup")
    assert len(story.of(LookAtScreen)) == looks + 2
    assert "a second session began beside its own, which has not ended: spare" in story.reasons
    assert (story.run.session_id, story.agent.session and story.agent.session.session_id) == (own, own)
    story.hook("prompt-submit", session_id="moved", text="Go on.")
    story.pass_over(600)
    story.exited(signal=9)
    assert (story.spawn.mode, story.spawn.session_id) == (Mode.RESUME, "moved")


def test_f_res_5_clear_ends_the_turn_and_compaction_does_not() -> None:
    story = Story(claude()).works()
    story.hook("session-start", session_id=story.run.session_id, source="compact")
    assert activity(story).turn_open
    story.hook("session-start", session_id="new-id", source="clear")
    assert not activity(story).turn_open
    story.pass_over(600)
    story.exited(signal=9)
    assert story.spawn.prompt is PromptKind.NONE


def test_f_res_3_the_same_context_under_another_id_keeps_its_record() -> None:
    story = Story(claude()).works()
    story.wait(900)
    story.exited(143)
    story.started()
    story.hook("session-start", session_id="forked", source="resume")
    assert story.agent.session is not None
    assert (story.agent.session.session_id, story.agent.session.hangs) == ("forked", 1)


def test_what_is_said_during_a_stop_counts_for_the_session() -> None:
    story = Story(claude())
    story.start()
    story.started()
    story.stop()
    story.hook("session-start", session_id="own-id", source="startup")
    story.hook("prompt-submit")
    story.hook("stop")
    story.exited(143)
    story.start()
    assert (story.spawn.mode, story.spawn.session_id) == (Mode.RESUME, "own-id")
    assert story.spawn.prompt is PromptKind.NONE


def test_a_first_hook_that_comes_during_a_stop_shows_that_hooks_arrive() -> None:
    story = Story(claude())
    story.start()
    story.started()
    story.stop()
    assert isinstance(story.state, Stopping)
    assert not story.agent.hooks_seen
    story.hook("session-start", session_id="own-id", source="startup")
    assert story.agent.hooks_seen


def test_activity_keeps_a_session_young() -> None:
    story = Story(claude()).works()
    for _ in range(30):
        story.pass_over(3600)
        story.hook("tool-end")
    story.stop()
    story.exited(143)
    story.start()
    assert story.spawn.mode is Mode.RESUME


# The task in hand: the operator's goal until a person or `send` submits a prompt (P8, design section 5).


def test_p8_the_goal_stands_until_somebody_submits_a_prompt() -> None:
    story = Story(claude()).runs()
    story.hook("prompt-submit", text="Build the shop.")
    assert story.agent.last_prompt is None
    story.hook("stop")
    story.hook("prompt-submit", text="Now the tests.")
    assert story.agent.last_prompt == "Now the tests."
    story.hook("prompt-submit", text="a subagent's", sub=True)
    assert story.agent.last_prompt == "Now the tests."


def test_p8_the_word_to_continue_is_not_a_persons_prompt() -> None:
    story = Story(claude()).works()
    story.pass_over(600)
    story.exited(signal=9)
    story.started()
    story.hook("session-start")
    story.hook("prompt-submit", text="You were restarted at noon; continue.")
    assert story.agent.last_prompt is None
    story.hook("prompt-submit", text="Stop that.")
    assert story.agent.last_prompt == "Stop that."


def test_p8_without_a_goal_the_first_prompt_is_a_persons() -> None:
    story = Story(claude(prompt=None)).runs()
    story.hook("prompt-submit", text="Fix the build.")
    assert story.agent.last_prompt == "Fix the build."


def test_p8_after_an_idle_resume_the_first_prompt_is_a_persons() -> None:
    story = Story(claude()).works()
    story.hook("stop")
    story.pass_over(600)
    story.exited(signal=9)
    assert story.spawn.prompt is PromptKind.NONE
    story.started()
    story.hook("session-start")
    story.hook("prompt-submit", text="Next.")
    assert story.agent.last_prompt == "Next."


def test_an_agents_words_cannot_fill_the_state() -> None:
    story = Story(claude(prompt=None)).runs()
    story.hook("prompt-submit", text="x" * 1_000_000)
    assert len(story.agent.last_prompt or "") == MAX_TEXT
    story.hook("permission-request", tool="Bash", text="y" * 1_000_000)
    waiting = activity(story).waiting
    assert waiting is not None
    assert len(waiting.text) == MAX_TEXT
    for number in range(1000):
        story.hook("tool-start", tool_use_id=str(number), lease=60)
    assert len(activity(story).leases) == MAX_LEASES


# Waiting for a person (F-PROC-16): one alert and one item, closed by its own answer.


def asks(sub: bool = False) -> Story:
    story = Story(claude()).works()
    story.hook("tool-start", tool="Task", tool_use_id="task", is_subagent_call=True)
    story.hook("tool-start", tool="Bash", tool_use_id="t1", sub=sub)
    story.hook("permission-request", tool="Bash", text="npm publish", sub=sub)
    assert waits(story) == "permission"
    return story


def test_f_proc_16_a_permission_request_alerts_and_opens_an_item() -> None:
    story = asks()
    assert story.of(Alert) == [Alert("a", "permission", "Bash npm publish", 1, story.wall)]
    item = story.agent.item
    assert item is not None
    assert (item.id, item.kind, item.text, item.answer_by) == (1, "permission", "Bash npm publish", "attach")
    assert item.opened_wall == story.wall


def test_f_proc_16_the_notification_of_the_same_dialog_is_no_second_question() -> None:
    story = asks()
    story.hook("notification", notification="permission_prompt", text="Claude needs your permission")
    assert story.alerts() == ["permission"]
    assert story.agent.item is not None
    assert story.agent.item.id == 1


@pytest.mark.parametrize(
    ("notification", "kind"),
    [
        ("permission_prompt", "permission"),
        ("worker_permission_prompt", "permission"),
        ("elicitation_dialog", "question"),
        ("agent_needs_input", "dialog"),
    ],
)
def test_a_notification_alone_is_a_question_too(notification: str, kind: str) -> None:
    story = Story(claude()).works()
    story.hook("notification", notification=notification)
    assert waits(story) == kind
    assert story.alerts() == [kind]


def test_a_dialog_that_is_drawn_takes_no_words_from_the_notification_that_told_of_it() -> None:
    story = Story(claude()).works()
    words = "Auto mode can't check actions in this session and needs your choice"
    story.hook("notification", notification="agent_needs_input", text=words)
    item = story.agent.item
    for verdict in ("dialog", "dialog"):
        story.tell(ScreenSeen("a", 1, verdict, reader="send"))
    assert story.agent.item == item
    assert item is not None
    assert item.text == words
    assert story.alerts() == ["dialog"]

    story.tell(ScreenSeen("a", 1, "login", reader="send"))
    assert story.agent.item is not None
    assert story.agent.item.text == "login", "another one is another question"


@pytest.mark.parametrize(
    ("hook", "details"),
    [
        ("tool-end", {"tool": "Bash"}),
        ("tool-failure", {"tool": "Bash"}),
        ("permission-denied", {"tool": "Bash"}),
        ("permission-denied", {}),
        ("prompt-submit", {"text": "no, do not"}),
        ("stop", {}),
        ("stop-failure", {"error": "server_error"}),
        ("session-start", {"source": "clear", "session_id": "new"}),
        ("notification", {"notification": "idle_prompt"}),
    ],
)
def test_a_question_is_closed_by_the_event_that_proves_it(hook: str, details: dict[str, str]) -> None:
    story = asks()
    story.hook(hook, **details)
    assert waits(story) is None
    assert "no longer waits" in story.reasons[-1]


def test_a_call_that_begins_closes_a_question_where_the_screen_agrees() -> None:
    """Calls that are made together ask together; a refusal by a rule leaves nothing but the next call."""
    story = asks()
    story.screen = "working"
    story.hook("tool-start", tool="Read")
    assert waits(story) == "permission", "made together"
    story.pass_over(1.5)
    story.hook("tool-start", tool="Read")
    story.wait(2.1)
    assert waits(story) is None

    program = Story(spec()).runs()
    program.hook("permission-request", tool="Bash")
    program.hook("tool-start", tool="Read")
    assert waits(program) is None, "it has no screen that can be read"


@pytest.mark.parametrize(("harness", "looks"), [("gemini", 1), ("claude", 0), ("codex", 0)])
def test_f_proc_26_a_turns_end_that_may_be_a_refusal_is_looked_at(harness: str, looks: int) -> None:
    story = Story(claude(harness=harness)).works()
    story.hook("stop")
    assert len(story.of(LookAtScreen)) == looks
    assert not activity(story).turn_open


def test_questions_asked_at_once_are_answered_one_by_one() -> None:
    story = asks()
    story.hook("permission-request", tool="WebFetch", text="https://example.org")
    assert story.agent.item is not None
    assert story.agent.item.text == "WebFetch https://example.org"
    story.hook("tool-end", tool="WebFetch")
    assert story.agent.item.text == "Bash npm publish"
    assert story.alerts() == ["permission"] * 3, "the one that comes up again is told again"
    story.hook("tool-end", tool="Bash")
    assert story.agent.item is None


def test_an_agents_questions_cannot_fill_the_state() -> None:
    story = asks()
    for number in range(100):
        story.hook("permission-request", tool="Bash", text=str(number))
    assert len(activity(story).also_asked) <= 8


@pytest.mark.parametrize("screen", ["permission", "question", "login", "limit"])
def test_f_proc_16_a_question_of_which_no_hook_told_is_seen_within_a_check(screen: str) -> None:
    story = Story(claude()).works()
    story.screen = screen
    story.wait(61)
    assert waits(story) == "dialog"


@pytest.mark.parametrize(
    ("hook", "details"),
    [
        ("tool-end", {"tool": "WebFetch"}),
        ("tool-end", {"tool": "Bash", "sub": True}),
        ("tool-start", {"tool": "Read", "sub": True}),
        ("permission-denied", {"tool": "Bash", "sub": True}),
        ("subagent-stop", {"sub": True}),
        ("stop", {"sub": True}),
        ("notification", {"notification": "auth_success"}),
        ("pre-compact", {}),
    ],
)
def test_a_neighbours_call_does_not_close_a_question(hook: str, details: dict[str, str]) -> None:
    """Enter would answer the dialog that is still there."""
    story = asks()
    story.hook(hook, **details)
    assert waits(story) == "permission"


@pytest.mark.parametrize(
    ("hook", "details", "closed"),
    [
        ("tool-end", {"tool": "Bash", "sub": True}, True),
        ("tool-failure", {"tool": "Bash", "sub": True}, True),
        ("permission-denied", {"tool": "Bash", "sub": True}, True),
        ("tool-end", {"tool": "Grep", "sub": True}, False),
        ("tool-start", {"tool": "Bash", "sub": True}, False),
        ("tool-start", {"tool": "Bash"}, False),
        ("tool-end", {"tool": "Bash"}, False),
        ("stop", {}, True),
        ("prompt-submit", {}, True),
    ],
)
def test_a_subagents_question_is_closed_by_its_own_answer(hook: str, details: dict[str, str], closed: bool) -> None:
    story = asks(sub=True)
    story.hook(hook, **details)
    assert waits(story) == (None if closed else "permission")


def test_a_second_question_is_a_second_item() -> None:
    story = asks()
    story.hook("tool-end", tool="Bash")
    story.hook("permission-request", tool="Bash", text="npm publish")
    assert story.agent.item is not None
    assert story.agent.item.id == 2
    assert story.alerts() == ["permission", "permission"]


def test_the_time_a_person_takes_to_answer_a_subagent_is_nobodys_silence() -> None:
    story = Story(claude()).works()
    story.hook("permission-request", tool="Bash", sub=True)
    story.wait(7200)
    story.hook("tool-end", tool="Bash", sub=True)
    story.wait(899)
    assert isinstance(story.state, Running)


def test_a_death_closes_the_question() -> None:
    story = asks()
    story.pass_over(600)
    story.exited(signal=9)
    assert story.agent.item is None


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


@pytest.mark.parametrize(("reason", "down"), [("prompt_input_exit", True), ("other", False)])
def test_p53_a_person_may_leave_at_once_and_that_is_no_failed_start(reason: str, down: bool) -> None:
    story = Story(claude()).works()
    story.pass_over(2)
    story.hook("session-end", source=reason)
    story.exited(0)
    assert isinstance(story.state, Stopped) is down
