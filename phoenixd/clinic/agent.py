"""The clinic's own agent: it reads one failure and answers with a diagnosis and a prescription. It has no tools."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import anyio
from pydantic_ai import Agent, ToolOutput, capture_run_messages
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models import KnownModelName, Model
from pydantic_ai.usage import RunUsage, UsageLimits

from phoenixd.clinic.failures import ClinicFailed, ClinicLate
from phoenixd.documents.cleaner import Cleaner
from phoenixd.documents.clinic import Examination, TraumaContext
from phoenixd.documents.clinic_reading import PERSONA, material

TIMEOUT = 60.0
MOST_TOKENS = 4000
MOST_REQUESTS = 3
ANSWER_LIMIT = 20_000


class ClinicAgent:
    """model: as for any pydantic-ai agent. timeout: seconds for an answer. usage: what all its answers have cost."""

    def __init__(self, model: Model | KnownModelName | str, *, timeout: float = TIMEOUT) -> None:
        self.model = model
        self.usage = RunUsage()
        self._timeout = timeout
        self._agent: Agent[None, Examination] = Agent(
            model,
            output_type=ToolOutput(Examination),
            instructions=PERSONA,
            retries=1,
            model_settings={"max_tokens": MOST_TOKENS},
        )

    async def examine(self, trauma: TraumaContext, tools: Sequence[str] | None, clean: Cleaner) -> Examination:
        """Ask for a diagnosis and a prescription; raises ClinicFailed where there is none that can be used.

        tools: those that the failed agent has, None where they are not known.
        """
        question = material(trauma, tools, clean, secrets.token_hex(8))
        with anyio.move_on_after(self._timeout):
            answer = await self._asked(question)
            said = answer.model_dump_json()
            if len(said) > ANSWER_LIMIT:
                raise ClinicFailed(f"its answer has {len(said)} characters, at most {ANSWER_LIMIT} are read")
            if clean.holds_secret(said):
                raise ClinicFailed("its answer holds what looks like a secret")
            return answer
        raise ClinicLate(f"it gave no answer within {self._timeout:g} s")

    async def _asked(self, question: str) -> Examination:
        spent = RunUsage()
        # Contexts of its own: a caller that captures the messages of its run is not given these.
        with capture_run_messages():
            try:
                result = await self._agent.run(
                    question, usage=spent, usage_limits=UsageLimits(request_limit=MOST_REQUESTS)
                )
            except Exception as error:
                raise ClinicFailed(f"its model failed: {type(error).__name__}") from error
            finally:
                self.usage.incr(spent)
        if not any(isinstance(part, ToolCallPart) for part in result.response.parts):
            # pydantic-ai reads JSON out of prose and fences as well; an answer that keeps its form is asked for here.
            raise ClinicFailed("its answer is text, and not the typed answer that it was asked for")
        return result.output
