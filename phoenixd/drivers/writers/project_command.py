"""A program that words a project's papers before a handoff: JSON on its standard input, JSON on its standard output."""

from __future__ import annotations

from phoenixd.core.agent import Agent
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.redact import redact, secret_values
from phoenixd.drivers.writers.command import TOLD_OF_ERROR, EnvironmentOf
from phoenixd.drivers.writers.job import EndTree, Job, PlaceOf, Runner, placed, run
from phoenixd.errors import PhoenixdError, WriterFailed
from phoenixd.ports.papers import WriterAnswer

TIME_LIMIT = 40.0
"""Seconds: it may be asked twice within the time that a handoff has for its files."""


class ProjectCommand:
    """Runs it as a job that leaves nothing behind; the arguments as CommandWriter has them."""

    def __init__(self, runner: Runner, environment_of: EnvironmentOf, end_tree: EndTree, place_of: PlaceOf) -> None:
        self._runner = runner
        self._environment_of = environment_of
        self._end_tree = end_tree
        self._place_of = place_of

    async def write(self, agent: Agent, asked: str) -> WriterAnswer:
        """Run the command of the agent's handoffs once; raises WriterFailed. What it cost nobody tells."""
        argv = agent.spec.handoff.command
        if not argv:
            raise WriterFailed("no command is configured", "set handoff.command")
        try:
            environment = await self._environment_of(agent)
        except PhoenixdError as failure:
            raise WriterFailed(failure.message, failure.remedy) from failure
        place = await placed(self._place_of, agent, environment)
        job = Job(argv, agent.spec.cwd, environment, asked.encode(), TIME_LIMIT, place, faster(agent, "command"))
        ended = await run(job, self._runner, self._end_tree)
        if ended.code != 0:
            words = one_line(redact(ended.errors, secret_values(environment)), TOLD_OF_ERROR)
            raise WriterFailed(f"{argv[0]} ended with exit {ended.code}{f': {words}' if words else ''}")
        return WriterAnswer(ended.output)


def faster(agent: Agent, key: str) -> str:
    """What a person does: the time is that of the handoff, and no key makes it longer."""
    table = f"[agent.{agent.spec.seat or agent.name}.handoff]"
    what = "the program of handoff.command answer sooner" if key == "command" else "handoff.model a faster one"
    return f'make {what}, or do without it: {table} writer = "deterministic"'
