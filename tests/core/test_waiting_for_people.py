"""Questions of agents to a person: one alert and one item, closed by its own answer (F-PROC-16)."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import Alert, LookAtScreen
from phoenixd.core.agent.state import Running
from phoenixd.core.events.evidence import ScreenSeen
from tests.core.story import Story, claude, spec
from tests.core.test_session import activity, waits

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
