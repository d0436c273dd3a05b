"""The drives in which a service, an answer or a context fails."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.eval_clinic.faults import REFUSALS
from tests.eval_clinic.room import GOAL, Room
from tests.stub.scenario import Fault, Rejection, Step, Stop, Usage

Drive = Callable[[Room], None]
TEXT = "First the till is closed. Then the money is counted. Then the report is written, and I note that"
STREAMS: dict[str, Fault] = {
    "connection dropped": "drop",
    "socket cut in the stream": "drop_mid_stream",
    "stream ends inside a block": "end_mid_block",
    "stream ends after a block": "end_after_block",
}
FAILED = {"codex": r"■", "gemini": r"✕|ℹ|\[API Error|Keep trying", "claude": r"API Error|⎿"}
IDLE = {"claude": r"❯", "codex": r"›", "gemini": r"Type your message"}


def settle(room: Room, seconds: float = 1.5) -> None:
    """Give the CLI time to write and draw what belongs to its end."""
    time.sleep(seconds)


def turn_failed(room: Room) -> None:
    """Wait until the CLI in a terminal gave up."""
    if room.harness == "claude":
        room.until_hook("StopFailure")
    else:
        room.until_screen(FAILED[room.harness], 60)
    settle(room)


def begin(room: Room, kind: str, prompt: str = GOAL, *flags: str, resume: str = "") -> None:
    if kind == "headless":
        room.headless(prompt, *flags, resume=resume)
    else:
        room.in_terminal(prompt, *flags, resume=resume)


def refused(kind: str, rejection: Rejection, *, unknown: bool = False) -> Drive:
    def drive(room: Room) -> None:
        room.refuse(rejection)
        models = {"claude": "claude-nonesuch-9", "codex": "gpt-nonesuch", "gemini": "gemini-nonesuch"}
        flags = ("--model", models[room.harness]) if unknown else ()
        begin(room, kind, GOAL, *flags)
        if kind == "terminal":
            turn_failed(room)

    return drive


def cut(kind: str, *, fault: str = "", stop: Stop | None = None, times: int | None = None) -> Drive:
    def drive(room: Room) -> None:
        room.answer(Step(text=TEXT, fault=STREAMS.get(fault), stop=stop, times=times))
        begin(room, kind)
        if kind == "terminal":
            _cut_in_terminal(room, fault, stop)

    return drive


def _cut_in_terminal(room: Room, fault: str, stop: Stop | None) -> None:
    if room.harness == "claude":
        room.until_hook("Stop(Failure)?")
    elif room.harness == "codex":
        room.until_screen(FAILED["codex"])
    elif stop == "output_limit":
        room.until_hook("AfterAgent")
    else:
        room.until_screen(FAILED["gemini"])
    settle(room)


def session_of(room: Room) -> str:
    """The session of the run before, also of a CLI that chooses its own."""
    if room.harness != "codex":
        return room.session
    newest = max(room.home.glob(".codex/sessions/**/*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    return newest.stem[-36:]


def too_long_with_history(kind: str) -> Drive:
    def drive(room: Room) -> None:
        room.answer(Step(text="The first item is done."), Step(text="The second item is done."))
        room.headless("Do the first item of docs/plan.md.")
        room.headless("Do the second item.", resume=session_of(room))
        too_long = REFUSALS[room.harness]["prompt too long"]
        room.refuse(too_long)
        room.refuse(too_long, to="compaction")
        room.refuse(too_long, to="side")
        begin(room, kind, "Do the third item.", resume=session_of(room))
        if kind == "terminal":
            turn_failed(room)

    return drive


def full_context(kind: str) -> Drive:
    """Claude Code without its compaction refuses by itself, and asks nothing of the API."""

    def drive(room: Room) -> None:
        room.env["DISABLE_AUTO_COMPACT"] = "1"
        model = ("--model", "claude-sonnet-4-5")
        room.answer(Step(text="The first item is done.", usage=Usage(input_tokens=179_000)))
        if kind == "headless":
            room.headless("Do the first item of docs/plan.md.", *model)
            room.headless("Do the second item.", *model, resume=room.session)
            return
        room.in_terminal("Do the first item of docs/plan.md.", *model)
        room.until_hook("Stop")
        settle(room)
        room.type("Do the second item.", "Enter")
        room.until_written("Prompt is too long")
        settle(room)

    return drive
