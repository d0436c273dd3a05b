"""A brief writer that is a model, by way of pydantic-ai (the extra `clinic`); imported when it is first asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from anyio import to_thread

from phoenixd.core.agent import Agent
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.brief.prompt import render_prompt
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.redact import redact, secret_values
from phoenixd.documents.seal import Told
from phoenixd.errors import PhoenixdError, WriterFailed
from phoenixd.ports.papers import WriterAnswer

ModelOf = Callable[[str, Mapping[str, str]], Any]
"""The model of a name, with the key and the address that stand in an environment."""

MOST_TOKENS = 8000
"""What an answer may cost at most; a brief takes some hundreds."""

CREDENTIALS = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
}
"""The agent's variables that a provider's key and address are taken from; other providers look in the daemon's own."""

ENDED: dict[str | None, Told] = {"stop": "whole", "tool_call": "whole", None: "unknown"}
"""By why the model ended its answer: one that was cut by its length, or by a filter, is returned as a success."""

REMEDY = "uv tool install '.[clinic]' in the checkout"

EnvironmentOf = Callable[[Agent], Awaitable[Mapping[str, str]]]


class ModelWriter:
    """Implements ports.BriefWriter. It has no tools, and one request per answer."""

    def __init__(self, environment_of: EnvironmentOf, model_of: ModelOf | None = None):
        self._environment_of = environment_of
        self._model_of = model_of or infer_model

    async def write(self, agent: Agent, material: BriefMaterial, complaint: str | None = None) -> WriterAnswer:
        """Ask the model once; raises WriterFailed."""
        name = agent.spec.brief.model
        if not name:
            raise WriterFailed("no model is configured", "set brief.model")
        try:
            environment = await self._environment_of(agent)
        except PhoenixdError as failure:
            raise WriterFailed(failure.message, failure.remedy) from failure
        prompt = render_prompt(material, complaint)
        output, tokens, ended = await ask(name, environment, prompt, agent.spec.brief.timeout, self._model_of)
        return WriterAnswer(str(output), tokens, ended)


async def ask(
    name: str,
    environment: Mapping[str, str],
    prompt: str,
    limit: float,
    model_of: ModelOf,
    output: type = str,
    remedy: str = "",
) -> tuple[Any, int, Told]:
    """One request to a model without tools: its answer, what that took in tokens, and how it ended.

    limit: seconds. output: the type of the answer; a model is bound to it by its schema. remedy: what a person does
    where it is too slow. Raises WriterFailed.
    """
    with anyio.move_on_after(limit):
        # The import takes a second, and some clients read certificates.
        asked = await to_thread.run_sync(_asking, name, environment, model_of, output)
        try:
            answer = await asked(prompt)
        except Exception as error:
            words = one_line(redact(str(error), secret_values(environment)), 200)
            raise WriterFailed(f"{name} failed: {type(error).__name__}: {words}") from error
        return answer.output, answer.usage.total_tokens, ENDED.get(answer.response.finish_reason, "cut")
    raise WriterFailed(f"{name} gave no answer within {limit:g} s", remedy)


def _asking(
    name: str, environment: Mapping[str, str], model_of: ModelOf, output: type
) -> Callable[[str], Awaitable[Any]]:
    try:
        import pydantic_ai
    except ImportError as error:
        raise WriterFailed(f"pydantic-ai is not installed ({error.name})", REMEDY) from error
    try:
        model = model_of(name, environment)
    except Exception as error:
        words = one_line(redact(str(error), secret_values(environment)), 200)
        raise WriterFailed(f"{name} cannot be used: {words}", REMEDY) from error
    asked: Any = pydantic_ai.Agent(model, output_type=output, retries=0, model_settings={"max_tokens": MOST_TOKENS})

    async def answer(prompt: str) -> Any:
        # As a context, it closes the connections that were made for it.
        async with asked:
            return await asked.run(prompt)

    return answer


def infer_model(name: str, environment: Mapping[str, str]) -> Any:
    """The model of a name such as anthropic:NAME, with the agent's own key and address."""
    from pydantic_ai.models import infer_model as infer
    from pydantic_ai.providers import infer_provider_class

    def provider(provider_name: str) -> Any:
        kind: Any = infer_provider_class(provider_name)
        if provider_name not in CREDENTIALS:
            return kind()
        key, address = (environment.get(variable) for variable in CREDENTIALS[provider_name])
        return kind(**({"api_key": key} if key else {}), **({"base_url": address} if address else {}))

    return infer(name, provider)
