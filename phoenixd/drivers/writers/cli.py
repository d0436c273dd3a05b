"""A brief writer that is the agent's own CLI, asked once: a job in the agent's fence, in a directory of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import anyio
from anyio import to_thread

from phoenixd.core.agent import Agent
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.brief.prompt import render_prompt
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.redact import redact, secret_values
from phoenixd.drivers.writers.job import EndTree, Job, Place, PlaceOf, Runner, placed, run
from phoenixd.errors import PhoenixdError, UnsafeFile, WriterFailed
from phoenixd.harness import HARNESSES
from phoenixd.harness.headless import Call, Headless, Said
from phoenixd.ports.papers import WriterAnswer

OFF = 'set brief.writer = "deterministic" for it'
WORDS_LIMIT = 300

EnvironmentOf = Callable[[Agent], Awaitable[Mapping[str, str]]]
Read = Callable[[str], bytes | None]


class CliWriter:
    """Implements ports.BriefWriter. read: the content of a file of the user's, None where there is none."""

    def __init__(
        self, runner: Runner, environment_of: EnvironmentOf, end_tree: EndTree, place_of: PlaceOf, read: Read
    ) -> None:
        self._runner = runner
        self._environment_of = environment_of
        self._end_tree = end_tree
        self._place_of = place_of
        self._read = read

    async def write(self, agent: Agent, material: BriefMaterial, complaint: str | None = None) -> WriterAnswer:
        """Ask the CLI once; raises WriterFailed."""
        harness = HARNESSES.get(agent.spec.harness)
        if harness is None or harness.headless is None:
            raise WriterFailed(f"{agent.spec.harness} cannot write briefs", OFF)
        if (problem := harness.headless.problem(agent.spec)) is not None:
            raise WriterFailed(*problem)
        try:
            environment = await self._environment_of(agent)
        except PhoenixdError as failure:
            raise WriterFailed(failure.message, failure.remedy) from failure
        place = await placed(self._place_of, agent, environment)
        try:
            said = await self._ask(harness.headless, agent, environment, place, render_prompt(material, complaint))
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(_leave, place)
        return _believed(said, environment)

    async def _ask(
        self, headless: Headless, agent: Agent, environment: Mapping[str, str], place: Place, prompt: str
    ) -> Said:
        home, empty = place.directory / "home", place.directory / "empty"
        try:
            call = await to_thread.run_sync(
                lambda: _furnish(headless.call(agent.spec, environment, str(home), self._read), home, empty)
            )
        except (OSError, UnsafeFile) as error:
            raise WriterFailed(f"{place.directory} cannot be made: {error}", "phoenixctl doctor") from error
        if call.login is not None and call.login.is_missing(os.path.exists):
            why = f"{agent.spec.harness} is not logged in: there is no {' and no '.join(call.login.files)}"
            raise WriterFailed(why, call.login.remedy)
        variables = {**environment, **call.environment, "PWD": str(empty)}
        limit = agent.spec.brief.timeout
        job = Job(call.argv, str(empty), variables, prompt.encode("utf-8", "replace"), limit, place)
        ended = await run(job, self._runner, self._end_tree)
        if ended.code in (126, 127) and not ended.output:
            words = one_line(redact(ended.errors, secret_values(environment)), WORDS_LIMIT)
            raise WriterFailed(f"{call.argv[0]} cannot be run: {words}", "install it, or give its whole path in argv")
        return headless.said(ended.code, ended.output, ended.errors)


def _believed(said: Said, environment: Mapping[str, str]) -> WriterAnswer:
    """The answer, unless it failed, or holds what no document may hold."""
    secrets = secret_values(environment)
    if said.problem:
        raise WriterFailed(redact(said.problem, secrets), said.remedy or OFF, said.tokens)
    if redact(said.text, secrets) != said.text:
        raise WriterFailed("its answer held a secret, and was thrown away", OFF, said.tokens)
    return WriterAnswer(said.text, said.tokens, said.ended)


def _furnish(call: Call, home: Path, empty: Path) -> Call:
    """Make the call's directories with what it finds there: nothing of an earlier call, and no file but its own."""
    shutil.rmtree(home.parent, ignore_errors=True)
    for directory in (home.parent, home, empty):
        directory.mkdir(mode=0o700, parents=True)
    for name, text in call.files.items():
        path = home / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    for name, target in call.links.items():
        if os.path.exists(target):
            (home / name).parent.mkdir(mode=0o700, exist_ok=True)
            os.symlink(os.path.realpath(target), home / name)
    return call


def _leave(place: Place) -> None:
    place.end()
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(place.directory)
