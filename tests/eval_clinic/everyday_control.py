"""The good ends of users' days at work: the control of the blind half. Recorded through everyday.py."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace

from tests.eval_clinic import everyday_words as words
from tests.eval_clinic import healthy
from tests.eval_clinic.ends import Drive, session_of, settle, turn_failed
from tests.eval_clinic.faults import REFUSALS
from tests.eval_clinic.recipes import CODEX, GEMINI, NEWER, OLDER, Recipe
from tests.eval_clinic.room import Room
from tests.stub.scenario import Step, ToolUse

TESTS = (
    "echo 'FAILED tests/test_till.py::test_sum - ConnectionError: 503 Service Unavailable'; echo Killed >&2; exit 137"
)
LOG = (
    'echo \'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\'; '
    "echo 'stream disconnected before completion; context_length_exceeded; No conversation found with session ID'"
)


def recipes() -> Iterator[Recipe]:
    yield Recipe("claude", NEWER, "headless", "healthy, a way around a denied call", _around)
    yield Recipe("claude", OLDER, "headless", "healthy, an unknown tool once", _unknown_once)
    yield Recipe("claude", OLDER, "terminal", "healthy, stopped with its terminal", _stopped(signal.SIGHUP))
    yield Recipe("claude", NEWER, "headless", "healthy, stopped by SIGINT", _stopped_headless(signal.SIGINT))
    yield Recipe("claude", OLDER, "terminal", "healthy, limit waited out", _waited_out)
    yield Recipe("claude", NEWER, "terminal", "healthy, a log of errors", _command_in_terminal(LOG))
    yield Recipe("claude", OLDER, "headless", "healthy, tests failed", _command(TESTS))
    yield Recipe("claude", NEWER, "headless", "healthy, connection dropped once", _dropped_once)
    yield Recipe("claude", OLDER, "terminal", "healthy, told to go on after a 529", _told_to_go_on)
    yield Recipe("codex", CODEX, "headless", "healthy, connection dropped once", _dropped_once)
    yield Recipe("codex", CODEX, "terminal", "healthy, stopped with its terminal", _stopped(signal.SIGHUP))
    yield Recipe("codex", CODEX, "headless", "healthy, a log of errors", _command(LOG))
    yield Recipe("codex", CODEX, "terminal", "healthy, told to go on after a 503", _told_to_go_on)
    yield Recipe("codex", CODEX, "terminal", "healthy, resumed", _resumed_in_terminal)
    yield Recipe("codex", CODEX, "headless", "healthy, tests failed", _command(TESTS))
    yield Recipe("gemini", GEMINI, "headless", "healthy, tests failed", _command(TESTS))
    yield Recipe("gemini", GEMINI, "headless", "healthy, resumed", healthy.resumed)
    yield Recipe("gemini", GEMINI, "terminal", "healthy, left by keys", _left_by_keys)
    yield Recipe("gemini", GEMINI, "headless", "healthy, 500 that passed", _passed)


def _around(room: Room) -> None:
    room.cli.settings = {"permissions": {"allow": ["Bash(*)"], "deny": ["Bash(curl:*)"]}}  # type: ignore[union-attr]
    room.answer(
        room.cli.shell("curl https://shop.example/prices"),
        room.cli.shell("echo 3 > prices; cat prices"),
        Step(text="I took the prices from the file instead of the site. All is done."),
    )
    room.headless("Write the prices into the file prices.")


def _unknown_once(room: Room) -> None:
    room.answer(
        Step(text="I look it up.", tool_use=(ToolUse("count_till", {"drawer": 1}),)),
        room.cli.shell("echo 3 > items; cat items"),
        Step(text="There is no such tool here, so I counted by a command. All is done."),
    )
    room.headless()


def _stopped(number: signal.Signals) -> Drive:
    def drive(room: Room) -> None:
        healthy._works(room)
        room.signal(number, asked=True)
        room.wait_exit()
        settle(room, 0.5)

    return drive


def _stopped_headless(number: signal.Signals) -> Drive:
    def drive(room: Room) -> None:
        room.answer(room.cli.shell("echo counted > till.txt; wc till.txt"), Step(hold="never"))
        room.headless(wait=False)
        room.stub.wait_for(lambda _: len(room.stub.main_requests()) > 1, timeout=120)
        settle(room)
        room.signal(number, asked=True)
        room.wait_exit()
        settle(room, 0.5)

    return drive


def _waited_out(room: Room) -> None:
    room.refuse(replace(words.REQUESTS_A_MINUTE, retry_after=3), times=1)
    room.answer(Step(text="All is done."))
    room.in_terminal()
    room.until_hook("Stop")
    settle(room)


def _command(command: str) -> Drive:
    def drive(room: Room) -> None:
        room.answer(room.cli.shell(command), Step(text="I read that, wrote down what is to do, and all is done."))
        room.headless("Run the tests and read the log, then say what is to do.")

    return drive


def _command_in_terminal(command: str) -> Drive:
    def drive(room: Room) -> None:
        room.answer(room.cli.shell(command), Step(text="I read that, wrote down what is to do, and all is done."))
        room.in_terminal("Read the log, then say what is to do.")
        room.until_hook(healthy.ENDED[room.harness])
        settle(room)

    return drive


def _dropped_once(room: Room) -> None:
    room.answer(Step(fault="drop"), room.cli.shell("echo 3 > items; cat items"), Step(text="All is done."))
    room.headless()


def _told_to_go_on(room: Room) -> None:
    """A turn fails, and after a while a person says the word: the next turn is whole."""
    room.answer(Step(text="I went on where I was. All is done.", match="Go on where you were"))
    room.refuse(REFUSALS[room.harness]["529"])
    room.in_terminal()
    turn_failed(room)
    room.type("Go on where you were.", "Enter")
    room.until_hook("Stop")
    settle(room)


def _resumed_in_terminal(room: Room) -> None:
    room.answer(Step(text="The first item is done."))
    room.headless("Do the first item of docs/plan.md.")
    room.answer(Step(text="The second item is done."))
    room.in_terminal("Do the second item.", resume=session_of(room))
    room.until_hook("Stop")
    settle(room)


def _left_by_keys(room: Room) -> None:
    healthy._works(room)
    room.type("C-c", "C-c")
    room.wait_exit()
    settle(room, 0.5)


def _passed(room: Room) -> None:
    room.refuse(words.INTERNAL, times=1)
    room.answer(room.cli.shell("echo 3 > items; cat items"), Step(text="All is done."))
    room.headless()
