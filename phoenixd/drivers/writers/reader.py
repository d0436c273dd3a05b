"""Who is shown a failure that no rule knows: the clinic's own agent with a model, or a program of the operator's.

Neither has a tool of ours, the agent's workspace or its session. The program runs as a job that leaves nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio
from anyio import to_thread

from phoenixd.core.actions import ExamineCase
from phoenixd.core.agent import Agent
from phoenixd.core.treatment.examined import Opinion, ReaderRules
from phoenixd.documents.cleaner import Cleaner
from phoenixd.documents.clinic import TraumaContext
from phoenixd.documents.clinic_answer import AnswerRefused, read_answer
from phoenixd.documents.clinic_reading import FORM, PERSONA, material
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.redact import redact, secret_values
from phoenixd.documents.trauma import trauma_of
from phoenixd.drivers.writers.command import TOLD_OF_ERROR, EnvironmentOf, unwrapped
from phoenixd.drivers.writers.job import EndTree, Job, PlaceOf, Runner, placed, run
from phoenixd.drivers.writers.model import REMEDY, infer_model
from phoenixd.errors import PhoenixdError, WriterFailed

SLOW = "raise clinic.timeout"
LATE = 5.0
"""Seconds beyond the clinic's own limit, which knows what was spent; below core's GRACE. The import is in them."""
MARK_BYTES = 8

Asking = Callable[[TraumaContext, Cleaner], Awaitable[tuple[str, int]]]


class ClinicReader:
    """Implements ports.FailureReader.

    runner, environment_of, end_tree: as CommandWriter has them. place_of: an empty directory, in which a program runs.
    marks: what secrets of the operator's own begin with.
    """

    def __init__(
        self,
        runner: Runner,
        environment_of: EnvironmentOf,
        end_tree: EndTree,
        place_of: PlaceOf,
        marks: Sequence[str] = (),
        model_of: Callable[[str, Mapping[str, str]], Any] = infer_model,
    ) -> None:
        self._runner = runner
        self._environment_of = environment_of
        self._end_tree = end_tree
        self._place_of = place_of
        self._marks = tuple(marks)
        self._model_of = model_of

    async def read(self, agent: Agent, asked: ExamineCase, pane: str) -> tuple[Opinion, int]:
        """Ask once; raises WriterFailed, also where the answer is none."""
        try:
            environment = await self._environment_of(agent)
        except PhoenixdError as failure:
            raise WriterFailed(failure.message, failure.remedy) from failure
        clean = Cleaner(secret_values(environment), self._marks)
        trauma = trauma_of(asked, agent.spec.prompt or "", pane, clean)
        rules, tokens = asked.reader, 0
        if rules.command:
            said, tokens = await self._by_command(agent, rules, environment, trauma, clean)
        else:
            said, tokens = await self._by_model(rules, environment, trauma, clean)
        try:
            return read_answer(said, trauma.original_prompt, clean), tokens
        except AnswerRefused as refused:
            raise WriterFailed(str(refused), tokens=tokens) from refused

    async def _by_command(
        self, agent: Agent, rules: ReaderRules, environment: Mapping[str, str], trauma: TraumaContext, clean: Cleaner
    ) -> tuple[str, int]:
        prompt = f"{PERSONA}\n\n{FORM}\n\n{material(trauma, None, clean, secrets.token_hex(MARK_BYTES))}\n"
        place = await placed(self._place_of, agent, environment)
        empty = str(place.directory)
        variables = {**environment, "PWD": empty}
        job = Job(rules.command, empty, variables, prompt.encode("utf-8", "replace"), rules.timeout, place, SLOW)
        ended = await run(job, self._runner, self._end_tree)
        if ended.code != 0:
            words = one_line(redact(ended.errors, secret_values(environment), self._marks), TOLD_OF_ERROR)
            raise WriterFailed(f"{rules.command[0]} ended with exit {ended.code}{f': {words}' if words else ''}")
        answer = unwrapped(ended.output)
        if answer.ended == "cut":
            raise WriterFailed("its answer was cut at its end", tokens=answer.tokens)
        return answer.text, answer.tokens

    async def _by_model(
        self, rules: ReaderRules, environment: Mapping[str, str], trauma: TraumaContext, clean: Cleaner
    ) -> tuple[str, int]:
        with anyio.move_on_after(rules.timeout + LATE):
            # The import takes a second, and some clients read certificates.
            ask = await to_thread.run_sync(self._asking, rules, environment)
            return await ask(trauma, clean)
        raise WriterFailed(f"{rules.model} gave no answer within {rules.timeout:g} s", SLOW)

    def _asking(self, rules: ReaderRules, environment: Mapping[str, str]) -> Asking:
        try:
            import pydantic_ai

            from phoenixd.clinic.agent import ClinicAgent
            from phoenixd.clinic.failures import ClinicFailed, ClinicLate
        except ImportError as error:
            raise WriterFailed(f"pydantic-ai is not installed ({error.name})", REMEDY) from error
        try:
            model = self._model_of(rules.model, environment)
        except Exception as error:
            words = one_line(redact(str(error), secret_values(environment), self._marks), TOLD_OF_ERROR)
            raise WriterFailed(f"{rules.model} cannot be used: {words}", REMEDY) from error

        async def ask(trauma: TraumaContext, clean: Cleaner) -> tuple[str, int]:
            clinic = ClinicAgent(model, timeout=rules.timeout)
            # As a context, it closes the connections that were made for the model.
            async with pydantic_ai.Agent(model):
                try:
                    answer = await clinic.examine(trauma, None, clean)
                except ClinicFailed as failure:
                    remedy = SLOW if isinstance(failure, ClinicLate) else ""
                    raise WriterFailed(str(failure), remedy, clinic.usage.total_tokens) from failure
            return answer.model_dump_json(exclude_none=True), clinic.usage.total_tokens

        return ask
