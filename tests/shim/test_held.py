"""Held permission requests: the client that posts one waits for an answer, for the run's end, or hangs up (P9)."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.shim.pane import DEADLINE, TOKEN, Daemon, Event
from tests.shim.posting import Poster

ALLOW = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}


class Question:
    """One request on a connection of its own, posted at once; `answer` waits."""

    def __init__(self, daemon: Daemon, command: str = "touch x", **headers: str) -> None:
        self._headers = {"Authorization": f"Bearer {TOKEN}", **headers}
        self._connection = http.client.HTTPConnection("agent", timeout=DEADLINE)
        self._connection.sock = socket.socket(socket.AF_UNIX)
        self._connection.sock.settimeout(DEADLINE)
        self._connection.sock.connect(str(daemon.pane.run / "hook.sock"))
        self.post("permission-request", {"tool_name": "Bash", "tool_input": {"command": command}})

    def post(self, kind: str, hook_input: Any) -> None:
        self._connection.request("POST", f"/hook/{kind}", json.dumps(hook_input), self._headers)

    def answer(self) -> Any:
        return json.loads(self._connection.getresponse().read())

    def hang_up(self) -> None:
        self._connection.close()


@pytest.fixture
def running(daemon: Daemon) -> Daemon:
    """A daemon whose agent lives, and whose questions are held."""
    daemon.start(["sleep", "1000"], holds_permissions=True)
    return daemon


@pytest.fixture
def ask(running: Daemon) -> Iterator[Any]:
    asked: list[Question] = []

    def one(command: str = "touch x", **headers: str) -> tuple[Question, Event]:
        asked.append(Question(running, command, **headers))
        return asked[-1], running.expect("hook")

    yield one
    for question in asked:
        question.hang_up()


def give(daemon: Daemon, seq: int, body: Any = ALLOW, incarnation: int = 1) -> None:
    daemon.send(op="answer", incarnation=incarnation, seq=seq, body=body)


def test_promise_11_a_question_is_held_until_its_answer_comes_byte_for_byte(running: Daemon, ask: Any) -> None:
    question, event = ask()
    assert json.loads(event["payload"]["asked"]) == {"tool": "Bash", "input": {"command": "touch x"}}
    assert running.hello()["held"] == [event["seq"]]

    give(running, event["seq"])
    assert question.answer() == ALLOW
    question.post("tool-end", {"tool_name": "Bash"})

    told = running.expect("answered")
    assert (told["seq"], told["taken"]) == (event["seq"], True)
    assert question.answer() == {}
    assert running.hello()["held"] == []


def test_promise_11_a_question_that_a_daemon_has_heard_of_is_told_again_to_who_asks_for_it(
    running: Daemon, ask: Any
) -> None:
    """Its journal may have been lost. It comes before the hello, and a daemon that does not ask is not told."""
    question, event = ask()

    def greeted() -> list[Any]:
        running.send(op="hello", protocol=1, version="0.1.0", held_again=True)
        before = len(running.events)
        running.expect("hello")
        return [(one["seq"], one["payload"]) for one in running.events[before:] if one.get("again") is True]

    assert greeted() == [], "it is told from the spool"
    running.send(op="ack", seq=event["seq"])
    assert greeted() == [(event["seq"], event["payload"])]
    before = len(running.events)
    running.hello()
    assert not any(one.get("again") for one in running.events[before:])
    give(running, event["seq"])
    assert question.answer() == ALLOW
    assert greeted() == []


def test_promise_11_a_question_that_the_spool_had_no_room_for_is_told_still(running: Daemon, ask: Any) -> None:
    """An older event of another kind is kept; of the question the spool knows only that there was one more."""
    with Poster(running.pane) as poster:
        poster.post("session-start", {"session_id": "s"})
        running.expect("hook")
        question, event = ask()
        for _ in range(150):
            assert poster.post("permission-request", {"tool_name": "Bash", "prompt": "x" * 8000}) == 200

    running.send(op="hello", protocol=1, version="0.1.0", held_again=True)
    before = len(running.events)
    running.expect("hello")
    told = [one for one in running.events[before:] if one["event"] == "hook" and one["seq"] == event["seq"]]
    assert [(one.get("again"), one["payload"]) for one in told] == [(True, event["payload"])]
    give(running, event["seq"])
    assert question.answer() == ALLOW


def test_promise_11_who_hangs_up_is_told_of_and_no_answer_reaches_anybody(running: Daemon, ask: Any) -> None:
    question, event = ask()

    question.hang_up()

    assert running.expect("released")["seq"] == event["seq"]
    give(running, event["seq"])
    assert running.expect("answered")["taken"] is False


def test_promise_11_who_hangs_up_on_an_answer_has_not_taken_it(running: Daemon, ask: Any) -> None:
    """The keyboard's No may be on its way to the shim while the answer is on its way to the agent."""
    question, event = ask()

    give(running, event["seq"])
    assert question.answer() == ALLOW
    question.hang_up()

    assert running.expect("answered")["taken"] is False


def test_promise_11_who_wants_one_answer_and_no_more_takes_it_by_hanging_up_after_it(running: Daemon, ask: Any) -> None:
    question, event = ask(Connection="close")

    give(running, event["seq"])

    assert question.answer() == ALLOW
    assert running.expect("answered")["taken"] is True


def test_promise_11_an_answer_reaches_the_question_that_it_names(running: Daemon, ask: Any) -> None:
    (first, one), (second, two) = ask("touch x"), ask("touch x")
    assert running.hello()["held"] == [one["seq"], two["seq"]]

    give(running, two["seq"])
    assert second.answer() == ALLOW
    give(running, one["seq"], {})
    assert first.answer() == {}
    give(running, one["seq"] + two["seq"] + 7)
    assert running.expect("answered", lambda told: told["seq"] > two["seq"])["taken"] is False


def test_promise_11_an_answer_for_another_incarnation_changes_nothing(running: Daemon, ask: Any) -> None:
    _, event = ask()

    give(running, event["seq"], incarnation=2)

    assert running.expect("answered")["taken"] is False
    assert running.hello()["held"] == [event["seq"]]


def test_promise_11_the_end_of_the_run_lets_go(running: Daemon, ask: Any) -> None:
    _, event = ask()

    running.send(op="kill", incarnation=1)

    assert running.expect("released")["seq"] == event["seq"]
    running.expect("exited")
    assert running.hello()["held"] == []


def test_promise_11_other_hooks_are_answered_while_questions_are_held(running: Daemon, ask: Any) -> None:
    ask()
    with Poster(running.pane) as poster:
        assert poster.post("stop", {}) == 200


def test_promise_11_what_cannot_be_shown_whole_or_exceeds_the_places_is_not_held(running: Daemon, ask: Any) -> None:
    long, event = ask("x" * 9000)
    assert long.answer() == {}
    assert "held" not in event["payload"]
    for _ in range(8):
        assert ask()[1]["payload"]["held"] is True
    ninth, event = ask()
    assert ninth.answer() == {}
    assert "held" not in event["payload"]


def test_promise_11_the_seat_of_a_held_question_is_not_given_away(running: Daemon, ask: Any) -> None:
    """The endpoint makes room for new connections at the cost of idle ones; one that waits is not idle."""
    question, event = ask()
    with contextlib.ExitStack() as crowd:
        for _ in range(64):
            poster = crowd.enter_context(Poster(running.pane))
            assert poster.post("stop", {}) == 200

    give(running, event["seq"])

    assert question.answer() == ALLOW


def test_promise_11_nothing_is_held_where_the_order_does_not_say_so(daemon: Daemon) -> None:
    daemon.start(["sleep", "1000"])
    question = Question(daemon)

    assert question.answer() == {}
    question.hang_up()


def test_a_daemon_that_follows_is_told_what_became_of_the_answers_of_the_one_before(running: Daemon, ask: Any) -> None:
    """It may have died before it heard of that. What is let go of is no answer, and the first answer counts."""
    assert running.hello()["answered"] == []
    question, event = ask()
    left, other = ask("touch y")
    give(running, event["seq"])
    assert question.answer() == ALLOW
    question.post("tool-end", {"tool_name": "Bash"})
    running.expect("answered")
    give(running, other["seq"], body={})
    assert left.answer() == {}
    left.post("tool-end", {"tool_name": "Bash"})
    running.expect("answered")
    assert running.hello()["answered"] == [[event["seq"], True]]

    give(running, event["seq"])
    assert running.expect("answered")["taken"] is False
    assert running.hello()["answered"] == [[event["seq"], True]]


def test_who_hung_up_before_its_answer_came_did_not_take_it(running: Daemon, ask: Any) -> None:
    question, event = ask()
    question.hang_up()
    running.expect("released")
    give(running, event["seq"])
    running.expect("answered")

    assert running.hello()["answered"] == [[event["seq"], False]]
