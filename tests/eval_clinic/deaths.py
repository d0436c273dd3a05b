"""The drives in which a process does not start, does not go on, or dies."""

from __future__ import annotations

import signal
import subprocess
import time
import uuid
from dataclasses import replace

from tests.eval_clinic.ends import Drive, begin, settle, turn_failed
from tests.eval_clinic.room import GOAL, Room
from tests.real.clis import Claude
from tests.stub.scenario import Step


def missing(kind: str) -> Drive:
    def drive(room: Room) -> None:
        room.binary = room.root / "gone" / room.harness
        begin(room, kind)
        room.wait_exit()
        settle(room, 0.5)

    return drive


def not_executable(room: Room) -> None:
    room.binary = room.root / room.harness
    room.binary.write_text("#!/bin/sh\n")
    room.headless()


def resume_refused(kind: str) -> Drive:
    def drive(room: Room) -> None:
        begin(room, kind, "Go on where you stopped.", resume=str(uuid.uuid4()))
        room.wait_exit()
        settle(room, 0.5)

    return drive


def id_in_use(room: Room) -> None:
    room.headless("Do the first item of docs/plan.md.")
    room.headless("Do the second item.")


def killed(kind: str, number: signal.Signals) -> Drive:
    """In the middle of a turn, after a call of a tool."""

    def drive(room: Room) -> None:
        room.answer(room.cli.shell("echo counted > till.txt; wc till.txt"), Step(hold="never"))
        if kind == "headless":
            room.headless(wait=False)
        else:
            room.in_terminal()
        room.stub.wait_for(lambda request: request.kind == "main" and len(room.stub.main_requests()) > 1, timeout=120)
        settle(room)
        room.signal(number)
        room.wait_exit()
        settle(room, 0.5)

    return drive


def silent(room: Room, command: str) -> Step:
    """A call that stays open as long as the command runs; Codex would ask the model again after seconds."""
    step = room.cli.shell(command)
    if isinstance(room.cli, Claude):
        # The newer release would ask a model about such a call.
        room.cli.settings = {"permissions": {"allow": ["Bash(*)"], "defaultMode": "default"}}
    if room.harness == "codex":
        call = step.tool_use[0]
        step = replace(step, tool_use=(replace(call, input={**call.input, "yield_time_ms": 600_000}),))
    return step


def hung_tool(kind: str) -> Drive:
    """As the supervisor sees it: the call is open and nothing moves, until it ends the run."""

    def drive(room: Room) -> None:
        room.answer(silent(room, "mkfifo orders; cat orders"))
        if kind == "headless":
            room.headless(wait=False)
        else:
            room.in_terminal()
        _until_tool(room)
        _end_as_hung(room, 20)

    return drive


def hung_api(kind: str) -> Drive:
    def drive(room: Room) -> None:
        room.answer(Step(fault="hang", times=None))
        if kind == "headless":
            room.headless(wait=False)
        else:
            room.in_terminal()
        room.asked()
        _end_as_hung(room, 20)

    return drive


def _until_tool(room: Room) -> None:
    room.until_hook("BeforeTool" if room.harness == "gemini" else "PreToolUse")


def _end_as_hung(room: Room, quiet: float) -> None:
    time.sleep(quiet)
    room.limits = {"ended_as": "hung", "quiet_s": quiet}
    room.signal(signal.SIGTERM)
    try:
        room.wait_exit(15)
    except TimeoutError:
        room.signal(signal.SIGKILL)
        room.wait_exit()
    settle(room, 0.5)


def refused_tool(room: Room) -> None:
    room.cli.ask_first()
    room.answer(room.cli.shell("./build.sh --all"), Step(text="I was not allowed to build the shop: nothing is done."))
    room.headless("Build the shop with ./build.sh --all.")


def trust_dialog(room: Room) -> None:
    room.trusted = False
    if room.harness == "codex":
        # It asks in a repository only.
        subprocess.run(["git", "init", "--quiet", str(room.workspace)], check=True)
    room.in_terminal()
    room.until_screen(r"[Tt]rust")
    settle(room, 3)


def hooks_dialog(room: Room) -> None:
    room.hooks_trusted = False
    room.in_terminal()
    room.until_screen("[Hh]ooks")
    settle(room, 3)


def unknown_flag(kind: str) -> Drive:
    """The operator's command line is not one of this release."""

    def drive(room: Room) -> None:
        begin(room, kind, GOAL, "--no-such-flag")
        room.wait_exit()
        settle(room, 0.5)

    return drive


def nobody_listens(kind: str) -> Drive:
    def drive(room: Room) -> None:
        room.stub.close()
        begin(room, kind)
        if kind == "terminal":
            turn_failed(room)

    return drive
