"""A brief writer that is a program: prompt on its standard input, JSON on its standard output."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping

from phoenixd.core.agent import Agent
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.brief.prompt import render_prompt
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.redact import redact, secret_values
from phoenixd.drivers.writers.job import AGENT as AGENT
from phoenixd.drivers.writers.job import Ended, EndTree, Job, PlaceOf, Runner, placed, run
from phoenixd.errors import PhoenixdError, WriterFailed
from phoenixd.harness.claude.headless import ended
from phoenixd.ports.papers import WriterAnswer

TOLD_OF_ERROR = 200

EnvironmentOf = Callable[[Agent], Awaitable[Mapping[str, str]]]


class CommandWriter:
    """Implements ports.BriefWriter by the command of the agent's configuration, run as a job.

    runner: the argv before the command's, which ends with all that the command started. environment_of: what the agent
    itself would get. end_tree: ends every process that carries a run id, for when the runner itself is lost. place_of:
    where a job of the agent's runs.
    """

    def __init__(self, runner: Runner, environment_of: EnvironmentOf, end_tree: EndTree, place_of: PlaceOf) -> None:
        self._runner = runner
        self._environment_of = environment_of
        self._end_tree = end_tree
        self._place_of = place_of

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
        place = await placed(self._place_of, agent, environment)
        job = Job(rules.command, agent.spec.cwd, environment, prompt, rules.timeout, place)
        return _answer(await run(job, self._runner, self._end_tree), environment)


def _answer(ended: Ended, environment: Mapping[str, str]) -> WriterAnswer:
    if ended.code != 0:
        words = one_line(redact(ended.errors, secret_values(environment)), TOLD_OF_ERROR)
        raise WriterFailed(f"it ended with exit {ended.code}{f': {words}' if words else ''}")
    return unwrapped(ended.output)


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
    tokens = sum(count for count in counts if isinstance(count, int) and count > 0)
    # A program's exit 0 is its word for a whole answer, unless it says more.
    return WriterAnswer(found["result"], tokens, ended(found) if "stop_reason" in found else "whole")
