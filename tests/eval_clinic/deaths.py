"""The drives in which a process does not start, does not go on, or dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.eval_clinic.ends import Drive, begin, settle
from tests.eval_clinic.room import Room
from tests.full_disk import fill
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


GROUPS = Path("/sys/fs/cgroup/memory")


def out_of_memory(room: Room) -> None:
    _with_little_memory(room, lambda: room.headless(wait=False))


def out_of_memory_in_terminal(room: Room) -> None:
    _with_little_memory(room, room.in_terminal)


def _with_little_memory(room: Room, begin_in_it: Callable[[], None]) -> None:
    """In a control group whose memory something else of the agent's eats up, so that the kernel kills the CLI."""
    room.group = GROUPS / f"phx-rec-{os.getpid()}-{time.time_ns() % 10**6}"
    room.group.mkdir()
    try:
        room.answer(room.cli.shell("echo counted > till.txt; wc till.txt"), Step(hold="never"))
        begin_in_it()
        room.stub.wait_for(lambda _: len(room.stub.main_requests()) > 1, timeout=120)
        settle(room)
        for pid in map(int, (room.group / "cgroup.procs").read_text().split()):
            Path(f"/proc/{pid}/oom_score_adj").write_text("1000")
        limit = int((room.group / "memory.usage_in_bytes").read_text()) + (32 << 20)
        (room.group / "memory.limit_in_bytes").write_text(str(limit))
        eater = subprocess.Popen([sys.executable, "-c", EATER, str(room.group)])
        try:
            room.wait_exit()
        finally:
            eater.kill()
            eater.wait()
        told = dict(line.split() for line in (room.group / "memory.oom_control").read_text().splitlines())
        room.limits = {"memory_max_bytes": limit, "oom_kills": int(told["oom_kill"])}
        settle(room, 0.5)
    finally:
        room.end()
        time.sleep(0.5)
        room.group.rmdir()


EATER = """
import os, sys, time
open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
eaten = bytearray(1 << 30)
time.sleep(60)
"""


def disk_full(kind: str) -> Drive:
    """The HOME is on a disk that is full from the second request on."""

    def drive(room: Room) -> None:
        options = "size=40m,mode=0700"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "phoenixd-record", room.home], check=True)
        try:
            writes = replace(room.cli.shell("cp /bin/ls ~/till-report"), hold="full")
            room.answer(room.cli.shell("ls"), writes, Step(text="I could not write the report: no space is left."))
            if kind == "headless":
                room.headless(wait=False)
            else:
                room.in_terminal()
            room.stub.wait_for(lambda _: len(room.stub.main_requests()) > 1, timeout=120)
            fill(room.home)
            room.limits = {"disk_full": "/home/dev"}
            room.stub.open_gate("full")
            if kind == "headless":
                room.wait_exit()
            else:
                settle(room, 8)
            room.keep()
        finally:
            room.end()
            subprocess.run(["umount", "--lazy", room.home], check=True)

    return drive


def refused_tool(room: Room) -> None:
    room.cli.ask_first()
    room.answer(room.cli.shell("rm -r build"), Step(text="I was not allowed to remove build/, so nothing is done."))
    room.headless("Remove build/ and build the shop anew.")


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
