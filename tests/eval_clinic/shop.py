"""What the recipes of pydantic-ai are made of: a model that answers by script, and one behind a stub of its API."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import Any

from anthropic import AsyncAnthropic
from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from tests.stub.messages import MessagesStub
from tests.stub.scenario import Fault, Rejection, Scenario, Step, Stop

Reply = Callable[[list[ModelMessage], AgentInfo], ModelResponse]
PROMPT = "Count the till, and say what it holds."


class Count(BaseModel):
    coins: int
    notes: int


def says(*parts: Any, finish: Any = "stop") -> ModelResponse:
    made = [TextPart(part) if isinstance(part, str) else part for part in parts]
    return ModelResponse(parts=made, finish_reason=finish)


def scripted(*replies: ModelResponse) -> FunctionModel:
    """Answers in this order; the last one for ever."""
    left = itertools.chain(replies, itertools.repeat(replies[-1]))
    return FunctionModel(lambda messages, info: next(left))


def shop(model: Any, **more: Any) -> Agent[None, Any]:
    """An agent with two tools that work."""
    agent: Agent[None, Any] = Agent(model, **more)

    @agent.tool_plain
    def count_coins(drawer: int) -> int:
        """Count the coins in a drawer."""
        return 120 + drawer

    @agent.tool_plain
    def list_drawers() -> list[int]:
        """The numbers of the drawers."""
        return [1, 2]

    return agent


@asynccontextmanager
async def api(
    *steps: Step, retries: int = 0, timeout: float | None = None, is_gone: bool = False
) -> AsyncIterator[AnthropicModel]:
    """A model behind the Messages API, which answers by the steps; `is_gone`: nobody listens at its port."""
    with ExitStack() as stack:
        stub = stack.enter_context(MessagesStub(Scenario(list(steps))))
        url = stub.base_url
        if is_gone:
            stack.close()
        # The SDK's own retries would only make it longer.
        async with AsyncAnthropic(
            api_key="sk-test-dummy", base_url=url, max_retries=retries, timeout=timeout
        ) as client:
            yield AnthropicModel("claude-opus-5-5", provider=AnthropicProvider(anthropic_client=client))


def always(
    error: Rejection | None = None, fault: Fault | None = None, stop: Stop | None = None, text: str = "-"
) -> Step:
    return Step(text=text, error=error, fault=fault, stop=stop, times=None, match="")


def refusal(status: int, kind: str, message: str, retry_after: float | None = None) -> Step:
    return always(error=Rejection(status, kind, message, retry_after))


def invents(between: bool) -> Reply:
    number = itertools.count(1)

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        turn = next(number)
        if between and turn % 3 == 0:
            return says(ToolCallPart("list_drawers", {}))
        return says(ToolCallPart(f"count_till_v{turn}", {"attempt": turn}))

    return reply


def history() -> list[ModelMessage]:
    made: list[ModelMessage] = []
    for number in range(20):
        made.append(ModelRequest(parts=[UserPromptPart(f"Item {number}: what does drawer {number} hold?")]))
        made.append(says(f"Drawer {number} holds {100 + number} coins. " * 30))
    return made


def refusing(message: str) -> Agent[None, str]:
    agent = Agent(scripted(says(ToolCallPart("book", {"day": "tomorrow"}))))

    @agent.tool_plain
    def book(day: str) -> str:
        """Book the day's takings; day as YYYY-MM-DD."""
        raise ModelRetry(message)

    return agent
