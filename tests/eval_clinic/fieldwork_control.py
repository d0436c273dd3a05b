"""The good ends of the field: the control. Recorded through fieldwork.py."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace

from tests.eval_clinic import deaths, healthy
from tests.eval_clinic import fieldwork_words as words
from tests.eval_clinic.ends import TEXT, Drive, settle
from tests.eval_clinic.faults import REFUSALS
from tests.eval_clinic.recipes import CODEX, GEMINI, NEWER, OLDER, Recipe
from tests.eval_clinic.room import Room
from tests.stub.scenario import Rejection, Step, Usage

TESTS = "echo 'E  AssertionError: context_length_exceeded != rate_limit_exceeded'; echo '3 failed, 41 passed'; exit 1"
SERVER = "echo 'npm error code ECONNREFUSED' >&2; echo 'npm error 401 Unauthorized' >&2; exit 1"


def recipes() -> Iterator[Recipe]:
    yield Recipe("claude", OLDER, "headless", "healthy, overload passed after a tool", _passed(words.OVERLOADED))
    litellm = _passed(words.LITELLM_INTERNAL, "terminal")
    yield Recipe("claude", NEWER, "terminal", "healthy, 500 through LiteLLM passed", litellm)
    demand = _passed(REFUSALS["codex"]["529"], "terminal")
    yield Recipe("codex", CODEX, "terminal", "healthy, overload passed after a tool", demand)
    yield Recipe("gemini", GEMINI, "headless", "healthy, high demand passed after a tool", _passed(words.HIGH_DEMAND))
    limit = replace(words.ACCOUNT_LIMIT, retry_after=4)
    yield Recipe("claude", NEWER, "headless", "healthy, limit waited out after a tool", _passed(limit))
    minute = replace(REFUSALS["gemini"]["429 without a reset"], retry_after=3)
    yield Recipe("gemini", GEMINI, "headless", "healthy, limit waited out after a tool", _passed(minute))
    yield Recipe("claude", OLDER, "headless", "healthy, tests failed three times", _command(TESTS, 3))
    yield Recipe(
        "codex", CODEX, "headless", "healthy, a command took too long", _command("timeout 1 sleep 9; exit 124")
    )
    yield Recipe("gemini", GEMINI, "terminal", "healthy, installation failed", _command(SERVER, kind="terminal"))
    yield Recipe("codex", CODEX, "terminal", "healthy, installation failed", _command(SERVER, kind="terminal"))
    yield Recipe("claude", NEWER, "terminal", "healthy, left after a long session", _left_late("/exit"))
    yield Recipe("codex", CODEX, "terminal", "healthy, left by /quit", _left_late("/quit"))
    yield Recipe("gemini", GEMINI, "terminal", "healthy, left by end of file", _left_by_keys("C-d", "C-d"))
    yield Recipe("claude", OLDER, "terminal", "healthy, interrupted and left", _interrupted_and_left)
    stopped = _stopped("headless", signal.SIGTERM, "mkfifo lock; cat lock")
    yield Recipe("claude", NEWER, "headless", "healthy, stopped in a call", stopped)
    yield Recipe("codex", CODEX, "headless", "healthy, stopped in a call", _stopped("headless", signal.SIGTERM))
    yield Recipe("gemini", GEMINI, "headless", "healthy, stopped in a call", _stopped("headless", signal.SIGTERM))
    yield Recipe("claude", OLDER, "terminal", "healthy, ended by force", _stopped("terminal", signal.SIGKILL))
    yield Recipe("claude", NEWER, "terminal", "healthy, compaction in a long session", _compacted)
    yield Recipe("codex", CODEX, "terminal", "healthy, compaction by itself", _compacted_codex)
    yield Recipe("claude", OLDER, "headless", "healthy, output limit after a tool", _cut_once("output_limit"))
    yield Recipe("gemini", GEMINI, "headless", "healthy, connection dropped once", _dropped_once)
    yield Recipe("codex", CODEX, "headless", "healthy, stream ended once", _ended_once)
    yield Recipe("claude", OLDER, "terminal", "healthy, allowed by a person", _allowed)
    yield Recipe("gemini", GEMINI, "terminal", "healthy, refused by a person", _refused_by_a_person)


def _until_ended(room: Room, times: int = 1) -> None:
    room.until_hook(healthy.ENDED[room.harness], times)
    settle(room)


def _passed(rejection: Rejection, kind: str = "headless") -> Drive:
    def drive(room: Room) -> None:
        room.answer(room.cli.shell("echo counted > till.txt; wc till.txt"))
        room.refuse(rejection, times=1)
        room.answer(room.cli.shell("cat till.txt"), Step(text="The till is counted. All is done."))
        if kind == "headless":
            room.headless()
        else:
            room.in_terminal()
            _until_ended(room)

    return drive


def _command(command: str, times: int = 1, kind: str = "headless") -> Drive:
    def drive(room: Room) -> None:
        room.answer(*[room.cli.shell(command)] * times, room.cli.shell("echo 'what failed' > notes.md; cat notes.md"))
        room.answer(Step(text="That still fails; I wrote down why in notes.md, as you asked. All is done."))
        if kind == "headless":
            room.headless("Try it, and write down what fails.")
        else:
            room.in_terminal("Try it, and write down what fails.")
            _until_ended(room)

    return drive


def _left_late(word: str) -> Drive:
    def drive(room: Room) -> None:
        room.answer(room.cli.shell("ls"), Step(text="The first item is done."))
        room.answer(room.cli.shell("echo 3 > items; cat items"), Step(text="The second item is done."))
        room.in_terminal("Do the first item of docs/plan.md.")
        _until_ended(room)
        room.type("Do the second item.", "Enter")
        _until_ended(room, 2)
        room.type(word, "Enter")
        room.wait_exit()
        settle(room, 0.5)

    return drive


def _left_by_keys(*keys: str) -> Drive:
    def drive(room: Room) -> None:
        healthy._works(room)
        room.type(*keys)
        room.wait_exit()
        settle(room, 0.5)

    return drive


def _interrupted_and_left(room: Room) -> None:
    room.answer(room.cli.shell("echo 3 > items; cat items"), Step(fault="hang"))
    room.in_terminal()
    room.stub.wait_for(lambda _: len(room.stub.main_requests()) > 1, timeout=120)
    settle(room)
    room.type("Escape")
    settle(room, 2)
    room.type("/exit", "Enter")
    room.wait_exit()
    settle(room, 0.5)


def _stopped(kind: str, number: signal.Signals, command: str = "sleep 300") -> Drive:
    def drive(room: Room) -> None:
        room.answer(deaths.silent(room, command))
        if kind == "headless":
            room.headless(wait=False)
        else:
            room.in_terminal()
        deaths._until_tool(room)
        settle(room, 2)
        room.signal(number, asked=True)
        room.wait_exit(30)
        settle(room, 0.5)

    return drive


def _compacted(room: Room) -> None:
    """The API refuses what has grown too long, the CLI compacts and asks again."""
    room.answer(room.cli.shell("ls"), Step(text="The first item is done."))
    room.answer(room.cli.shell("echo 3 > items; cat items"), Step(text="The second item is done."))
    room.in_terminal("Do the first item of docs/plan.md.")
    _until_ended(room)
    room.type("Do the second item.", "Enter")
    _until_ended(room, 2)
    room.refuse(REFUSALS["claude"]["prompt too long"], match="third item", times=1)
    room.answer(Step(text="The third item is done."))
    room.type("Do the third item.", "Enter")
    room.until_hook("PostCompact")
    _until_ended(room, 3)


def _compacted_codex(room: Room) -> None:
    room.answer(Step(text="The first item is done.", usage=Usage(input_tokens=188_000)))
    room.answer(Step(text="The second item is done."))
    room.in_terminal("Do the first item of docs/plan.md.", "-c", "model_context_window=200000")
    _until_ended(room)
    room.type("Do the second item.", "Enter")
    room.until_hook("PostCompact")
    _until_ended(room, 2)


def _cut_once(stop: str) -> Drive:
    def drive(room: Room) -> None:
        room.answer(room.cli.shell("ls"), Step(text=TEXT, stop=stop))  # type: ignore[arg-type]
        room.answer(Step(text=" the drawer was short by 3. All is done."))
        room.headless()

    return drive


def _ended_once(room: Room) -> None:
    room.answer(room.cli.shell("ls"), Step(text=TEXT, fault="end_mid_block"))
    room.answer(Step(text="The report is written. All is done."))
    room.headless()


def _dropped_once(room: Room) -> None:
    room.answer(room.cli.shell("ls"), Step(fault="drop"), Step(text="The report is written. All is done."))
    room.headless()


def _allowed(room: Room) -> None:
    room.cli.ask_first()
    room.answer(room.cli.shell("echo 3 > items; cat items"), Step(text="All is done."))
    room.in_terminal("Write the items into the file items.")
    room.until_hook("PermissionRequest")
    room.until_screen("Do you want to proceed")
    settle(room)
    room.type("Enter")
    _until_ended(room)


def _refused_by_a_person(room: Room) -> None:
    room.cli.ask_first()
    room.answer(room.cli.shell("rm -r build"))
    room.in_terminal("Remove build/ and build the shop anew.")
    room.until_hook("Notification")
    settle(room, 2)
    room.type("Escape")
    settle(room, 3)
