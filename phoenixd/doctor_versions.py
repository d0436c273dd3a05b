"""What agents' CLIs say of their versions: each program is asked once, several at a time, and none for long.

A CLI starts an interpreter of its own for it, which takes a second and more on a busy machine: if a fleet asked one
after the other, the operator would wait until the daemon seems dead.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import anyio
from anyio.abc import ByteReceiveStream, Process

from phoenixd.api.finding import Finding
from phoenixd.becoming import becoming, why_not_begun
from phoenixd.doctor_agents import version_finding
from phoenixd.lifeline import Lifeline

AT_ONCE = 4
WITHIN = 8.0
"""Seconds for all of them together; phoenixctl waits longer for doctor."""
LEFT_OPEN = 1.0
OUTPUT_LIMIT = 64 * 1024
WORDS = 200


class Program(NamedTuple):
    """One program. name: of the link by which it is found, for some programs are many by their name (version managers).
    path: the PATH that it is run with, which decides what it finds itself."""

    real: str
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Said:
    """What came of asking. words: its version, or what was wrong."""

    how: Literal["told", "failed", "not started", "late"]
    words: str = ""


def program_of(command: str, environment: Mapping[str, str]) -> Program:
    """The program behind a command that was found; links are followed. Blocking."""
    return Program(os.path.realpath(command), os.path.basename(command), environment.get("PATH", ""))


async def ask(
    wanted: Mapping[Program, tuple[str, Mapping[str, str]]], within: float = WITHIN
) -> Mapping[Program, Said]:
    """Ask each program, by a command and an environment that lead to it. What is not done in time is late."""
    said = dict.fromkeys(wanted, Said("late"))
    places = anyio.Semaphore(AT_ONCE)

    async def one(program: Program) -> None:
        async with places:
            said[program] = await _ask(*wanted[program])

    with anyio.move_on_after(within):
        async with anyio.create_task_group() as tasks:
            for program in wanted:
                tasks.start_soon(one, program)
    return said


def finding(name: str, command: str, said: Said, tested: tuple[str, ...]) -> Finding:
    """What it means for an agent."""
    match said.how:
        case "told":
            return version_finding(name, Path(command).name, said.words, tested)
        case "late":
            told = f"{name}: {command} --version has not answered in {WITHIN:.0f} s"
            return Finding("warning", told, "slow, or stuck: its version is not known", f"{command} --version")
        case "not started":
            return Finding("problem", f"{name}: {command} cannot run", said.words, "install it again")
        case "failed":
            return Finding("problem", f"{name}: {command} --version fails", said.words, "install it again")


async def _ask(command: str, environment: Mapping[str, str]) -> Said:
    try:
        failed, tells = os.pipe()
    except OSError as error:
        return Said("not started", str(error))
    with contextlib.ExitStack() as until_over:
        failure = until_over.enter_context(os.fdopen(failed, "rb"))
        try:
            lifeline = until_over.enter_context(Lifeline())
            process = await anyio.open_process(
                becoming((command, "--version"), tells),
                stdin=subprocess.DEVNULL,
                env=dict(environment),
                cwd="/",
                start_new_session=True,
                pass_fds=(tells, lifeline.theirs),
            )
        except OSError as error:
            return Said("not started", str(error))
        finally:
            os.close(tells)
        lifeline.hold(process.pid)
        said = await _said_by(process)
        why = why_not_begun(failure)
    return said if why is None else Said("not started", f"{command}: {why}")


async def _said_by(process: Process) -> Said:
    """What it says, and its end."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = bytearray(), bytearray()
    async with process:
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_read, process.stdout, out)
                tasks.start_soon(_read, process.stderr, err)
                await process.wait()
                # What it left running may hold the other ends for ever.
                tasks.cancel_scope.deadline = anyio.current_time() + LEFT_OPEN
        finally:
            # Until it is reaped its group's number is nobody else's.
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
    first = out.decode(errors="replace").strip().splitlines()[:1]
    if process.returncode != 0 or not first:
        return Said("failed", err.decode(errors="replace").strip()[-WORDS:])
    return Said("told", first[0])


async def _read(stream: ByteReceiveStream, into: bytearray) -> None:
    """Read to the end, and keep no more than a version can be."""
    async for chunk in stream:
        into += chunk[: max(0, OUTPUT_LIMIT - len(into))]
