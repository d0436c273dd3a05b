"""The drives that end well, or go on: the control."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace

from tests.eval_clinic.deaths import silent
from tests.eval_clinic.ends import TEXT, session_of, settle
from tests.eval_clinic.faults import REFUSALS
from tests.eval_clinic.room import Room
from tests.stub.scenario import Step

Drive = Callable[[Room], None]
ENDED = {"claude": "Stop", "codex": "Stop", "gemini": "AfterAgent"}
TOOL = {"claude": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool"}


def one_shot(room: Room) -> None:
    room.answer(room.cli.shell("echo 3 > items; cat items"), Step(text="All three items are done."))
    room.headless()


def iteration(room: Room) -> None:
    """Exit 0 of a loop's iteration."""
    room.answer(room.cli.shell("ls"), Step(text="Nothing is left to do in this iteration."))
    room.headless("Do the next item of docs/plan.md, then end.")


def _works(room: Room) -> None:
    room.answer(room.cli.shell("echo 3 > items; cat items"), Step(text="The first item is done."))
    room.in_terminal()
    room.until_hook(ENDED[room.harness])
    settle(room)


def stopped(room: Room) -> None:
    _works(room)
    room.signal(signal.SIGTERM, asked=True)
    room.wait_exit()


def left(room: Room) -> None:
    """A person typed the CLI's own word for leaving."""
    _works(room)
    room.type("/quit" if room.harness == "gemini" else "/exit", "Enter")
    room.wait_exit()
    settle(room, 0.5)


def idle(room: Room) -> None:
    _works(room)


def passed(fault: str, kind: str = "headless") -> Drive:
    def drive(room: Room) -> None:
        room.refuse(REFUSALS[room.harness][fault], times=1)
        room.answer(Step(text="All is done."))
        if kind == "headless":
            room.headless()
        else:
            room.in_terminal()
            room.until_hook(ENDED[room.harness])
            settle(room)

    return drive


def stream_cut_once(room: Room) -> None:
    """The CLI asks for the whole answer instead, and gets it."""
    room.answer(Step(text=TEXT, fault="drop_mid_stream"), Step(text="All is done."))
    room.headless()


def stream_ended_once(room: Room) -> None:
    room.answer(Step(text=TEXT, fault="end_mid_block"), Step(text="All is done."))
    room.in_terminal()
    room.until_hook("Stop")
    settle(room)


def waited_out(room: Room) -> None:
    """A limit that is over in seconds."""
    limited = REFUSALS[room.harness]["429 without a reset"]
    room.refuse(replace(limited, retry_after=3), times=1)
    room.answer(Step(text="All is done."))
    room.headless()


def tool_failed(kind: str) -> Drive:
    def drive(room: Room) -> None:
        room.answer(
            room.cli.shell("cat docs/plan.md"),
            room.cli.shell("echo started > plan.md; cat plan.md"),
            Step(text="There was no plan, so I began one."),
        )
        if kind == "headless":
            room.headless()
        else:
            room.in_terminal()
            room.until_hook(ENDED[room.harness])
            settle(room)

    return drive


def quiet_tool(kind: str) -> Drive:
    """A long test run that prints nothing, still at work."""

    def drive(room: Room) -> None:
        room.answer(silent(room, "python3 -c 'import time; time.sleep(900)'"))
        room.in_terminal()
        room.until_hook(TOOL[room.harness])
        settle(room, 20)

    return drive


def interrupted(room: Room) -> None:
    """A person pressed Escape in the middle of an answer."""
    room.answer(room.cli.shell("echo 3 > items; cat items"), Step(fault="hang"))
    room.in_terminal()
    room.stub.wait_for(lambda _: len(room.stub.main_requests()) > 1, timeout=120)
    settle(room)
    room.type("Escape")
    settle(room, 3)


def resumed(room: Room) -> None:
    room.answer(Step(text="The first item is done."))
    room.headless("Do the first item of docs/plan.md.")
    room.answer(Step(text="The second item is done."))
    room.headless("Do the second item.", resume=session_of(room))


def compacted(room: Room) -> None:
    _works(room)
    room.type("/compact", "Enter")
    room.until_hook("PostCompact")
    settle(room)


def compacted_by_itself(room: Room) -> None:
    """The API refuses a long prompt, the CLI compacts and asks again."""
    _works(room)
    room.refuse(REFUSALS["claude"]["prompt too long"], match="second item", times=1)
    room.answer(Step(text="The second item is done."))
    room.type("Do the second item.", "Enter")
    room.until_hook("PostCompact")
    room.until_hook("Stop", 2)
    settle(room)


def refused_by_a_person(room: Room) -> None:
    room.cli.ask_first()
    room.answer(room.cli.shell("rm -r build"))
    room.in_terminal("Remove build/ and build the shop anew.")
    room.until_hook("PermissionRequest")
    room.until_screen("Do you want to proceed")
    settle(room)
    room.type("Escape")
    settle(room, 3)


def went_on(kind: str) -> Drive:
    """Claude Code asks for the rest of an answer by itself."""

    def drive(room: Room) -> None:
        room.answer(Step(text=TEXT, stop="output_limit"), Step(text=" the drawer was short by 3. All is done."))
        if kind == "headless":
            room.headless()
        else:
            room.in_terminal()
            room.until_hook("Stop")
            settle(room)

    return drive


def talks_of_errors(room: Room) -> None:
    """Its work is about failures, whose words stand in its answer and in what its tools print."""
    room.answer(
        room.cli.shell("echo 'API Error: 401 invalid x-api-key; prompt is too long; 529 overloaded; out of memory'"),
        Step(text="The log says: 429 rate_limit_error, then 'prompt is too long' and 'Killed'. I fixed the retry."),
    )
    room.headless("Find out why the nightly import failed: see import.log.")


def cleared(room: Room) -> None:
    _works(room)
    room.type("/clear", "Enter")
    room.until_hook("SessionStart", 2)
    settle(room)
