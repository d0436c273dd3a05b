"""A job of a brief writer: one program, fed by its standard input, that leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import structlog
from anyio import to_thread

from phoenixd.core.agent import Agent
from phoenixd.documents.brief.answer import ANSWER_LIMIT
from phoenixd.errors import PhoenixdError, WriterFailed

OUTPUT_LIMIT = 4 * ANSWER_LIMIT
ERROR_LIMIT = 64 * 1024
END_LIMIT = 5.0
"""Seconds in which a job that is told to end has to be gone with all that it started."""

AGENT = "#brief"
"""No agent can have that name, so that nothing of an agent's is met when a job is ended."""

Runner = Callable[[], Sequence[str]]
EndTree = Callable[[str], Awaitable[object]]

log = structlog.get_logger("phoenixd.briefs")


@dataclass(frozen=True, slots=True)
class Place:
    """Where one job runs. directory: in which it works. setup: arguments for the runner, with control group and fence.

    end: ends what is left in the control group; called when the runner is gone. Blocking.
    """

    directory: Path
    setup: tuple[str, ...] = ()
    end: Callable[[], None] = lambda: None


PlaceOf = Callable[[Agent, Mapping[str, str]], Place]
"""The place for one job of this agent, in this environment; raises PhoenixdError and OSError. Blocking."""


@dataclass(frozen=True, slots=True)
class Job:
    """One program and what it finds. limit: seconds. remedy: what a person does where they were too few."""

    argv: Sequence[str]
    cwd: str
    environment: Mapping[str, str] = field(repr=False)
    prompt: bytes = field(repr=False)
    limit: float
    place: Place
    remedy: str = "raise brief.timeout"

    @property
    def name(self) -> str:
        return self.argv[0]


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of it."""

    code: int
    output: str
    errors: str


async def run(job: Job, runner: Runner, end_tree: EndTree) -> Ended:
    """Run a job to its end; raises WriterFailed. However this call ends, nothing of the job lives on.

    runner: the argv before the program's, which ends with all that the program started. end_tree: ends every process
    that carries a run id, for when the runner itself is lost.
    """
    run_id = secrets.token_hex(16)
    marks = {"PHOENIX_AGENT": AGENT, "PHOENIX_RUN_ID": run_id}
    try:
        process = await asyncio.create_subprocess_exec(
            *runner(),
            "--cwd",
            job.cwd,
            *job.place.setup,
            *job.argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            cwd="/",
            env={**job.environment, **marks},
        )
    except BaseException as error:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(job.place.end)
        if isinstance(error, OSError):
            raise WriterFailed(f"{job.name} did not start: {error.strerror}") from error
        raise
    try:
        with anyio.move_on_after(job.limit):
            code, output, errors = await _talk(process, job.prompt)
            return Ended(code, output.decode("utf-8", "replace"), errors.decode("utf-8", "replace"))
        raise WriterFailed(f"{job.name} gave no answer within {job.limit:g} s", job.remedy)
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process, run_id, end_tree)
            await to_thread.run_sync(job.place.end)


async def placed(place_of: PlaceOf, agent: Agent, environment: Mapping[str, str]) -> Place:
    """The place for one job; raises WriterFailed. A caller that does not run the job then has to end the place."""
    try:
        return await to_thread.run_sync(place_of, agent, environment)
    except PhoenixdError as failure:
        raise WriterFailed(failure.message, failure.remedy) from failure
    except OSError as error:
        raise WriterFailed(f"a directory for it cannot be made: {error}", "phoenixctl doctor") from error


async def _end(process: asyncio.subprocess.Process, run_id: str, end_tree: EndTree) -> None:
    """Have the job ended with its tree; the runner does that, and where it cannot, the fence."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
    await _gone(process)
    if process.returncode is None or process.returncode < 0:
        try:
            await end_tree(run_id)
        except PhoenixdError as failure:
            log.error("brief_command_lingers", reason=failure.message)
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await _gone(process)


async def _gone(process: asyncio.subprocess.Process) -> None:
    """Wait for a job's end, for a while. What it still says is read: asyncio waits for the pipes too."""

    async def drop(stream: asyncio.StreamReader | None) -> None:
        while stream is not None and await stream.read(65536):
            pass

    with anyio.move_on_after(END_LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(drop, process.stdout)
            tasks.start_soon(drop, process.stderr)
            await process.wait()


async def _talk(process: asyncio.subprocess.Process, prompt: bytes) -> tuple[int, bytes, bytes]:
    """Feed the prompt, gather bounded output, and wait for the end; raises WriterFailed where it says too much."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    outputs: dict[str, bytes] = {}

    async def feed(stdin: asyncio.StreamWriter) -> None:
        # A command may answer without reading.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            stdin.write(prompt)
            await stdin.drain()
        stdin.close()

    async def gather(name: str, stream: asyncio.StreamReader, limit: int) -> None:
        kept = bytearray()
        while chunk := await stream.read(65536):
            kept += chunk[: max(0, limit + 1 - len(kept))]
            if name == "stdout" and len(kept) > limit:
                break
        outputs[name] = bytes(kept)
        if len(kept) > limit and name == "stdout":
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(feed, process.stdin)
        tasks.start_soon(gather, "stdout", process.stdout, OUTPUT_LIMIT)
        tasks.start_soon(gather, "stderr", process.stderr, ERROR_LIMIT)
        await process.wait()
    if len(outputs.get("stdout", b"")) > OUTPUT_LIMIT:
        raise WriterFailed(f"it answered more than {OUTPUT_LIMIT} bytes")
    return process.returncode or 0, outputs.get("stdout", b""), outputs.get("stderr", b"")
