"""The ends of the field that no refusal of an API makes: tools, signals, memory, disks, silence."""

from __future__ import annotations

import signal
from collections.abc import Iterator

from tests.eval_clinic import deaths, ends, fieldwork_starts, scarce
from tests.eval_clinic.ends import Drive, begin, session_of, settle, turn_failed
from tests.eval_clinic.fieldwork_words import AT_CAPACITY
from tests.eval_clinic.recipes import CODEX, GEMINI, NEWER, OLDER, Recipe
from tests.eval_clinic.room import GOAL, Room
from tests.stub.scenario import Rejection, Step, ToolUse, Usage


def recipes() -> Iterator[Recipe]:
    yield from _tools()
    yield from fieldwork_starts.recipes()
    yield from _deaths()
    yield from _others()


def _tools() -> Iterator[Recipe]:
    yield Recipe("claude", NEWER, "headless", "tool refused twice", _refused_twice)
    yield Recipe("codex", CODEX, "headless", "tool refused by the sandbox", _refused_by_the_sandbox)
    yield Recipe("gemini", GEMINI, "headless", "tool refused without a person", _refused_alone)
    yield Recipe("claude", OLDER, "headless", "follows a log", _hung("touch orders.log; tail -f orders.log"))
    yield Recipe("codex", CODEX, "terminal", "waits for a lock", _hung("mkfifo lock; cat lock"))
    yield Recipe("gemini", GEMINI, "headless", "follows a log", _hung("touch orders.log; tail -f orders.log"))
    yield Recipe("claude", OLDER, "headless", "tool that is not there", _flagged_calls("count_till", {"drawer": 1}))
    yield Recipe("claude", NEWER, "headless", "tool of a server that is gone", _flagged_calls("mcp__till__count", {}))
    yield Recipe("claude", NEWER, "headless", "arguments that do not fit", _flagged_calls("Bash", {"cmd": "ls"}))
    yield Recipe("claude", OLDER, "headless", "arguments of another tool", _flagged_calls("Read", {"path": "plan.md"}))
    yield Recipe("gemini", GEMINI, "headless", "the same call for ever", _same_call)


def _deaths() -> Iterator[Recipe]:
    yield Recipe("claude", OLDER, "headless", "killed in a call", _killed_in_a_call("headless", signal.SIGKILL))
    yield Recipe("codex", CODEX, "terminal", "hung up in a call", _killed_in_a_call("terminal", signal.SIGHUP))
    yield Recipe("gemini", GEMINI, "headless", "killed on a resume", _killed_on_a_resume(signal.SIGKILL))
    yield Recipe("claude", NEWER, "terminal", "killed while idle", _killed_while_idle)
    yield Recipe("codex", CODEX, "terminal", "out of memory", scarce.out_of_memory_in_terminal)
    yield Recipe("gemini", GEMINI, "terminal", "out of memory", scarce.out_of_memory_in_terminal)
    yield Recipe("claude", NEWER, "headless", "out of memory", scarce.out_of_memory)
    yield Recipe("gemini", GEMINI, "terminal", "little heap", _little_heap)
    yield Recipe("claude", OLDER, "terminal", "disk full", scarce.disk_full("terminal"))
    yield Recipe("codex", CODEX, "terminal", "disk full", scarce.disk_full("terminal"))
    yield Recipe("gemini", GEMINI, "terminal", "disk full", scarce.disk_full("terminal"))


def _others() -> Iterator[Recipe]:
    yield Recipe("claude", OLDER, "headless", "context refused in a loop of tools", _full_in_a_loop("headless"))
    yield Recipe("claude", NEWER, "terminal", "context refused in a loop of tools", _full_in_a_loop("terminal"))
    yield Recipe("claude", NEWER, "headless", "context refused on a resume", ends.full_context("headless"))
    yield Recipe("codex", CODEX, "terminal", "at capacity, in the stream", _late(AT_CAPACITY))
    yield Recipe("codex", CODEX, "headless", "idle stream given up", _idle_stream)
    yield Recipe("claude", NEWER, "headless", "request timed out", _timed_out)
    yield Recipe("claude", OLDER, "headless", "portal before the gateway", _portal)
    yield Recipe("gemini", GEMINI, "headless", "silent after a tool", _silent_after_a_tool)


def _run(room: Room, kind: str, prompt: str = GOAL, *flags: str, resume: str = "") -> None:
    """Without waiting for its end."""
    if kind == "headless":
        room.headless(prompt, *flags, resume=resume, wait=False)
    else:
        room.in_terminal(prompt, *flags, resume=resume)


def _until_asked_again(room: Room) -> None:
    room.stub.wait_for(lambda _: len(room.stub.main_requests()) > 1, timeout=120)


def _refused_twice(room: Room) -> None:
    room.cli.ask_first()
    room.answer(
        room.cli.shell("npm publish --access public"),
        room.cli.shell("npm publish"),
        Step(text="I have no permission to run npm publish, so nothing was published. Please allow it."),
    )
    room.headless("Publish the shop's package.", "--permission-mode", "dontAsk")


def _refused_by_the_sandbox(room: Room) -> None:
    """Nobody is there to be asked, and it may only read."""
    room.answer(
        room.cli.shell("echo 3 > items"),
        room.cli.shell("mkdir report && echo 3 > report/items"),
        Step(text="The sandbox is read-only, so I could not write anything. The task is not done."),
    )
    room.headless("Write the items into the file items.", "-c", 'sandbox_mode="read-only"')


def _refused_alone(room: Room) -> None:
    room.cli.ask_first()
    room.answer(
        room.cli.shell("./build.sh --all"),
        Step(text="I am not allowed to run a command here, so nothing was built."),
    )
    room.headless("Build the shop with ./build.sh --all.")


def _hung(command: str) -> Drive:
    def drive(room: Room) -> None:
        room.answer(deaths.silent(room, command))
        _run(room, "terminal" if room.harness == "codex" else "headless", "Wait for the next order, and book it.")
        deaths._until_tool(room)
        deaths._end_as_hung(room, 20)

    return drive


def _flagged_calls(tool: str, arguments: dict[str, object]) -> Drive:
    """The same wrong call again and again, until the turns are used up that the operator gave."""

    def drive(room: Room) -> None:
        call = ToolUse(tool, arguments)
        room.answer(Step(text="I will do it by this tool.", tool_use=(call,), times=None))
        room.headless(GOAL, "--max-turns", "5")

    return drive


def _same_call(room: Room) -> None:
    again = room.cli.shell("cat docs/plan.md").tool_use
    room.answer(Step(text="I read the plan.", tool_use=again, times=None))
    room.headless()


def _killed_in_a_call(kind: str, number: signal.Signals) -> Drive:
    def drive(room: Room) -> None:
        room.answer(deaths.silent(room, "mkfifo lock; cat lock"))
        _run(room, kind)
        deaths._until_tool(room)
        settle(room, 3)
        room.signal(number)
        room.wait_exit()
        settle(room, 0.5)

    return drive


def _killed_on_a_resume(number: signal.Signals) -> Drive:
    def drive(room: Room) -> None:
        room.answer(Step(text="The first item is done."))
        room.headless("Do the first item of docs/plan.md.")
        room.answer(room.cli.shell("echo counted > till.txt; wc till.txt"), Step(hold="never"))
        room.headless("Do the second item.", resume=session_of(room), wait=False)
        room.stub.wait_for(lambda _: len(room.stub.main_requests()) > 2, timeout=120)
        settle(room)
        room.signal(number)
        room.wait_exit()
        settle(room, 0.5)

    return drive


def _killed_while_idle(room: Room) -> None:
    room.answer(room.cli.shell("echo 3 > items; cat items"), Step(text="The first item is done."))
    room.in_terminal()
    room.until_hook("Stop")
    settle(room)
    room.signal(signal.SIGKILL)
    room.wait_exit()
    settle(room, 0.5)


def _little_heap(room: Room) -> None:
    room.env["NODE_OPTIONS"] = "--max-old-space-size=40"
    room.in_terminal()
    room.wait_exit()
    settle(room, 0.5)


def _full_in_a_loop(kind: str) -> Drive:
    """Without its compaction: the result of a tool is one too many, and it asks no further."""

    def drive(room: Room) -> None:
        room.env["DISABLE_AUTO_COMPACT"] = "1"
        calls = room.cli.shell("echo counted > till.txt; wc till.txt").tool_use
        room.answer(Step(text="I count.", tool_use=calls, usage=Usage(input_tokens=184_000)))
        begin(room, kind, GOAL, "--model", "claude-sonnet-4-5")
        if kind == "terminal":
            room.until_written("Prompt is too long")
            settle(room)

    return drive


def _late(rejection: Rejection) -> Drive:
    def drive(room: Room) -> None:
        room.answer(room.cli.shell("ls"))
        room.answer(Step(text=ends.TEXT, fault="error_mid_stream", error=rejection, times=None))
        room.in_terminal()
        turn_failed(room)

    return drive


def _idle_stream(room: Room) -> None:
    room.answer(room.cli.shell("ls"), Step(text=ends.TEXT, fault="hang_mid_stream", times=None))
    room.headless(GOAL, "-c", "model_providers.stub.stream_idle_timeout_ms=3000")


def _timed_out(room: Room) -> None:
    room.env["API_TIMEOUT_MS"] = "4000"
    room.answer(Step(fault="hang", times=None))
    room.headless()


def _portal(room: Room) -> None:
    """Something before the gateway answers 200 with its own page: sign in first."""
    title = "Sign in to Shop SSO"
    text = f"<!doctype html><html><head><title>{title}</title></head><body><form action=/login></form></body></html>"
    room.refuse(Rejection(200, body=text))
    room.headless()


def _silent_after_a_tool(room: Room) -> None:
    room.answer(room.cli.shell("echo counted > till.txt; wc till.txt"), Step(fault="hang", times=None))
    room.headless(wait=False)
    _until_asked_again(room)
    deaths._end_as_hung(room, 20)
