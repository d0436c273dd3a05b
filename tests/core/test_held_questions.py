"""Held questions in the core: released when something else closes them, kept over a daemon start, told again (P9)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.actions import Alert, AnswerHold, AttendHold, ReleaseHold, Terminate
from phoenixd.core.agent.standing import InboxItem, StandingAlert, text_hash
from phoenixd.core.alerts import next_command
from phoenixd.core.answers import answer, call_held
from phoenixd.core.events.orders import AnswerRequested
from phoenixd.core.events.runs import HoldAnswered, HoldReleased, RunAdopted
from phoenixd.core.waiting import MAX_TEXT
from phoenixd.documents.hooks import hook_event
from tests.core.story import EPOCH, Story, claude, spec


def asking(*commands: str, **changes: Any) -> Story:
    """An agent with these questions held, numbered from 1, the last one on top."""
    story = Story(claude(**changes))
    story.start()
    story.started()
    story.hook("session-start", source="startup")
    story.hook("prompt-submit", text="go")
    for number, command in enumerate(commands, 1):
        story.hook("permission-request", tool="Bash", text=command, held=True, seq=number)
    story.decisions.clear()
    return story


def item(story: Story) -> tuple[str, int, str] | None:
    found = story.agent.item
    return (found.text, found.hold, found.answer_by) if found is not None else None


def newest(story: Story) -> InboxItem:
    found = story.agent.item
    assert found is not None
    return found


def test_promise_11_an_answer_goes_to_the_request_that_the_item_was_opened_for() -> None:
    story = asking("one")
    assert story.agent.item is not None
    story.tell(AnswerRequested("a", story.agent.item.id, allow=True))

    assert [(order.hold, order.allow) for order in story.of(AnswerHold)] == [(1, True)]
    assert story.tell(AnswerRequested("a", story.agent.item.id, allow=False, reason="no")) is not None
    story.tell(HoldAnswered("a", 1, 1, taken=True))
    assert item(story) is None


def test_promise_11_what_can_be_approved_from_afar_is_shown_whole_and_the_rest_is_cut() -> None:
    """An approval is of every word; what is only to be looked at cannot fill the state."""
    command = "echo " + "x" * 4 * MAX_TEXT + "; rm -rf /"
    assert newest(asking(command)).text == f"Bash {command}"

    story = asking()
    story.hook("permission-request", tool="Bash", text=command, seq=1)
    assert newest(story).text == f"Bash {command}"[:MAX_TEXT]


def test_promise_11_a_question_that_covered_another_leaves_it_to_be_told_again() -> None:
    story = asking("one", "two")
    assert item(story) == ("Bash two", 2, "answer")

    story.tell(HoldAnswered("a", 1, 2, taken=True))

    assert item(story) == ("Bash one", 1, "answer")
    assert story.alerts() == ["permission"]
    assert story.of(ReleaseHold) == []


def test_promise_11_what_ends_the_turn_lets_go_of_every_request() -> None:
    story = asking("one", "two")

    story.hook("stop", seq=3)

    assert item(story) is None
    assert {order.hold for order in story.of(ReleaseHold)} == {1, 2}


def test_promise_11_what_ends_the_run_lets_go_of_no_request_before() -> None:
    """Nobody is to be asked at the terminal of a run that is being ended."""
    story = asking("one")

    story.tell(hook_event("a", 1, "stop-failure", {"error": "invalid_request", "error_details": "Prompt is too long"}))

    assert item(story) is None
    assert len(story.of(Terminate)) == 1
    assert story.of(ReleaseHold) == []


def test_promise_11_a_dialog_that_has_left_the_screen_withdraws_the_item() -> None:
    story = asking("one")
    story.screen = "permission"
    story.wait(3)
    assert item(story) == ("Bash one", 1, "answer")

    story.screen = "working"
    story.wait(60)

    assert item(story) is None
    assert [order.hold for order in story.of(ReleaseHold)] == [1]


def test_promise_11_a_daemon_start_keeps_what_is_still_held_and_nothing_else() -> None:
    kept, gone = asking("one"), asking("one")
    kept.screen = gone.screen = "permission"

    kept.tell(RunAdopted("a", 1, 5, 50, held=(1,)))
    gone.tell(RunAdopted("a", 1, 5, 50, held=()))

    assert item(kept) == ("Bash one", 1, "answer")
    assert item(gone) == ("Bash one", 0, "attach")


def test_promise_11_a_call_that_ends_beside_a_dialog_that_was_seen_does_not_close_it() -> None:
    story = asking("one")
    story.screen = "permission"
    story.wait(3)

    story.hook("tool-end", tool="Bash", text="another one's")

    assert item(story) == ("Bash one", 1, "answer")


def test_promise_11_a_command_without_a_screen_believes_its_hang_up() -> None:
    story = Story(spec(hold_permissions=True))
    story.start()
    story.started()
    story.hook("permission-request", tool="Bash", text="one", held=True, seq=1)

    story.tell(HoldReleased("a", 1, 1))

    assert item(story) is None


def test_promise_11_codex_is_attended_to_also_after_a_daemon_start_and_its_screen_closes_nothing() -> None:
    story = asking("one", harness="codex", hold_permissions=True)
    story.tell(RunAdopted("a", 1, 5, 50, held=(1,)))
    assert [order.hold for order in story.of(AttendHold)] == [1]

    story.screen = "idle"
    story.wait(60)
    assert item(story) == ("Bash one", 1, "answer")

    story.screen = "working"
    story.tell(HoldReleased("a", 1, 1))
    assert item(story) == ("Bash one", 0, "attach")


def test_promise_11_a_recheck_that_has_no_fresh_word_of_what_is_held_lets_go_of_nothing() -> None:
    """`phoenixctl watchdog`, the form for cron, asks a link that has been open for long: its hello is no news."""
    story = asking("one", "two")
    for _ in range(100):
        story.wait(1)
        story.tell(RunAdopted("a", 1, 5, 50, unwatched=False, held=None))

    assert item(story) == ("Bash two", 2, "answer")
    story.tell(AnswerRequested("a", newest(story).id, allow=True))
    assert [order.hold for order in story.of(AnswerHold)] == [2]
    # An answer that is under way stays under way, or a second one would be given to the same request.
    story.tell(RunAdopted("a", 1, 5, 50, unwatched=False, held=None))
    assert newest(story).answering == "allow"
    story.tell(HoldAnswered("a", 1, 2, taken=True))
    assert item(story) == ("Bash one", 1, "answer")


def test_promise_11_what_a_shim_said_before_a_question_came_says_nothing_of_that_question() -> None:
    """A hello waits its turn: by the time it is compared, the next question may be there."""
    story = asking("one")

    story.tell(RunAdopted("a", 1, 5, 50, held=(), held_until=0))

    assert item(story) == ("Bash one", 1, "answer")


def test_p15_an_alert_of_a_question_is_readable_and_names_the_command_that_answers_it() -> None:
    story = asking()
    given = {"file_path": "/srv/\u00e9.md", "content": "a\nb"}
    story.hook("permission-request", tool="Write", text=json.dumps(given), held=True, seq=1)

    (alert,) = story.of(Alert)
    assert (alert.text, alert.id, alert.answerable) == ("Write /srv/\u00e9.md", newest(story).id, True)
    assert next_command(alert.kind, alert.agent, alert.id) == f"phoenixctl answer {alert.id}"
    assert newest(story).text_hash == text_hash(f"Write {json.dumps(given)}"), "the hash is over the call itself"


def test_p15_two_calls_that_read_alike_are_two_alerts() -> None:
    story = asking()
    for seq, content in ((1, "one"), (2, "two")):
        given = {"file_path": "x", "content": content}
        story.hook("permission-request", tool="Write", text=json.dumps(given), held=True, seq=seq)
    assert len(story.of(Alert)) == 2


def test_p14_an_answer_is_the_call_as_it_was_with_the_answers_in_it() -> None:
    story = asking()
    question = {"question": "Which, \u00e9?", "options": [{"label": "one"}, {"label": "two"}], "more": [1, None, 2.5]}
    text = json.dumps({"questions": [question], "kept": {"as": "it is"}})
    story.hook("permission-request", tool="AskUserQuestion", text=text, held=True, seq=1)

    story.tell(AnswerRequested("a", newest(story).id, words=("2",)))

    (order,) = story.of(AnswerHold)
    assert order.allow
    assert json.loads(order.updated) == {**json.loads(text), "answers": {"Which, \u00e9?": "two"}}
    assert story.reasons[-1] == f"operator answers #{newest(story).id} (question): option 2"


def test_p14_no_allowance_and_no_denial_reaches_a_question() -> None:
    story = asking()
    text = json.dumps({"questions": [{"question": "Which?"}]})
    story.hook("permission-request", tool="AskUserQuestion", text=text, held=True, seq=1)

    for allow in (True, False):
        refusal = story.tell(AnswerRequested("a", newest(story).id, allow=allow, reason="no"))
        assert refusal is not None
        assert refusal.code == "invalid"
    assert story.of(AnswerHold) == []


def test_p14_what_is_no_question_is_refused_with_what_can_be_done_about_it() -> None:
    story = Story(claude()).works()
    for kind, remedy in (("quarantined", "phoenixctl explain a"), ("hung", "phoenixctl explain a")):
        alert = StandingAlert(7, kind, "it does not go on", EPOCH)
        told = answer(replace(story.agent, alerts=(alert,)), AnswerRequested("a", 7, allow=True), story.now)
        assert told.refusal is not None
        assert (told.refusal.code, told.refusal.remedy) == ("conflict", remedy)
        assert f"#7 ({kind}) is no question" in told.refusal.message


@pytest.mark.parametrize("secret", [True, False])
def test_p79_an_answer_that_holds_a_secret_goes_to_its_shim_and_is_kept_nowhere(secret: bool) -> None:
    story = asking()
    text = json.dumps({"questions": [{"question": "Which key?", "options": [{"label": "none"}]}]})
    story.hook("permission-request", tool="AskUserQuestion", text=text, held=True, seq=1)
    story.tell(AnswerRequested("a", newest(story).id, words=("hunter2",), as_text=True, reason="mine", secret=secret))

    (order,) = story.of(AnswerHold)
    assert "hunter2" in order.updated
    (kept,) = story.run.giving
    assert (kept.whole, "hunter2" in kept.updated) == (not secret, not secret)
    assert (kept.hold, kept.answer) == (1, "answered")


def calling(*calls: tuple[str, str, str]) -> Story:
    """An agent with these calls open: id, tool, command."""
    story = asking()
    for call, tool, command in calls:
        story.hook("tool-start", tool=tool, tool_use_id=call, command=command)
    return story


LONG = "echo " + "x" * 500


@pytest.mark.parametrize(
    ("calls", "asks", "found"),
    [
        ([("t1", "Bash", "make")], "make", "t1"),
        ([("t1", "Bash", "make"), ("t2", "Bash", "make test"), ("t3", "Read", "")], "make test", "t2"),
        ([("t1", "Bash", "make  all\nmake test")], "make  all\nmake test", "t1"),
        ([("t1", "Bash", LONG)], LONG, "t1"),
        ([("t1", "Bash", "echo é"), ("t2", "Read", "")], '{"command": "echo \\u00e9"}', "t1"),
        # It may be either, or none of them: a shim that is flooded tells not of each call.
        ([("t1", "Bash", "make"), ("t2", "Bash", "make")], "make", ""),
        ([("t1", "Bash", "echo é"), ("t2", "Bash", "make")], '{"command": "echo \\u00e9"}', ""),
        ([("t1", "Bash", "make")], "make test", ""),
        ([("t1", "Read", "")], "make", ""),
        ([("", "Bash", "make")], "make", ""),
        ([], "make", ""),
    ],
)
def test_promise_11_a_held_request_is_that_of_the_open_call_that_is_surely_meant(
    calls: list[tuple[str, str, str]], asks: str, found: str
) -> None:
    """No hook tells whose request it is, and by that the transcript tells whether the answer counted."""
    story = calling(*calls)
    story.hook("permission-request", tool="Bash", text=asks, held=True, seq=7)
    assert call_held(story.agent, 7) == found
    assert call_held(story.agent, 8) == ""


def test_promise_11_each_of_several_requests_keeps_its_own_call() -> None:
    story = calling(("t1", "Bash", "one"), ("t2", "Bash", "two"))
    for number, command in ((7, "one"), (8, "two")):
        story.hook("permission-request", tool="Bash", text=command, held=True, seq=number)
    assert [call_held(story.agent, hold) for hold in (7, 8)] == ["t1", "t2"]


def test_promise_11_a_subagents_request_is_none_of_the_main_threads_calls() -> None:
    story = calling(("t1", "Bash", "make"))
    story.hook("permission-request", tool="Bash", text="make", held=True, seq=7, sub=True)
    assert call_held(story.agent, 7) == ""
