"""A brief writer that is a program: prompt on its standard input, JSON on its standard output."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio
import structlog

from phoenixd.core.agent import Agent
from phoenixd.documents.brief.answer import ANSWER_LIMIT
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.brief.prompt import render_prompt
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.redact import redact, secret_values
from phoenixd.errors import PhoenixdError, WriterFailed
from phoenixd.ports import WriterAnswer

OUTPUT_LIMIT = 4 * ANSWER_LIMIT
ERROR_LIMIT = 64 * 1024
TOLD_OF_ERROR = 200
END_LIMIT = 5.0
"""Seconds in which a job that is told to end has to be gone with all that it started."""

AGENT = "#brief"
"""No agent can have that name, so that nothing of an agent's is met when a job is ended."""

EndTree = Callable[[str], Awaitable[object]]
EnvironmentOf = Callable[[Agent], Awaitable[Mapping[str, str]]]

log = structlog.get_logger("phoenixd.briefs")


class CommandWriter:
    """Implements ports.BriefWriter by the command of the agent's configuration, run as a job.

    runner: the argv before the command's, which ends with all that the command started. environment_of: what the agent
    itself would get. end_tree: ends every process that carries a run id, for when the runner itself is lost.
    """

    def __init__(self, runner: Callable[[], Sequence[str]], environment_of: EnvironmentOf, end_tree: EndTree) -> None:
        self._runner = runner
        self._environment_of = environment_of
        self._end_tree = end_tree

    async def write(self, agent: Agent, material: BriefMaterial, complaint: str | None = None) -> WriterAnswer:
        """Run the command once; raises WriterFailed."""
        rules = agent.spec.brief
        if not rules.command:
            raise WriterFailed("no command is configured", "set brief.command")
        try:
            environment = await self._environment_of(agent)
        except PhoenixdError as failure:
            raise WriterFailed(failure.message, failure.remedy) from failure
        prompt = render_prompt(material, complaint).encode("utf-8", "replace")
        run_id = secrets.token_hex(16)
        marks = {"PHOENIX_AGENT": AGENT, "PHOENIX_RUN_ID": run_id}
        try:
            process = await asyncio.create_subprocess_exec(
                *self._runner(),
                *rules.command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                cwd=agent.spec.cwd,
                env={**environment, **marks},
            )
        except OSError as error:
            raise WriterFailed(f"{rules.command[0]} did not start: {error.strerror}") from error
        try:
            with anyio.move_on_after(rules.timeout):
                return _answer(*await _talk(process, prompt), environment)
            raise WriterFailed(f"{rules.command[0]} gave no answer within {rules.timeout:g} s")
        finally:
            with anyio.CancelScope(shield=True):
                await self._end(process, run_id)

    async def _end(self, process: asyncio.subprocess.Process, run_id: str) -> None:
        """Have the job ended with its tree; the runner does that, and where it cannot, the fence."""
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        await _gone(process)
        if process.returncode is None or process.returncode < 0:
            try:
                await self._end_tree(run_id)
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


def _answer(code: int, output: bytes, errors: bytes, environment: Mapping[str, str]) -> WriterAnswer:
    if code != 0:
        words = one_line(redact(errors.decode("utf-8", "replace"), secret_values(environment)), TOLD_OF_ERROR)
        raise WriterFailed(f"it ended with exit {code}{f': {words}' if words else ''}")
    return unwrapped(output.decode("utf-8", "replace"))


def unwrapped(text: str) -> WriterAnswer:
    """The answer out of what `claude -p --output-format json` prints, and its tokens; else the output as it is."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return WriterAnswer(text)
    if not isinstance(found, dict) or not isinstance(found.get("result"), str):
        return WriterAnswer(text)
    usage = found.get("usage")
    counts = [value for key, value in usage.items() if key.endswith("_tokens")] if isinstance(usage, dict) else []
    return WriterAnswer(found["result"], sum(count for count in counts if isinstance(count, int) and count > 0))
