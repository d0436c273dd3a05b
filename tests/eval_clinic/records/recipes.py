"""Runs of pydantic-ai that fail, or do not: each function raises its error live (tests/eval_clinic/live.py)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from pydantic_ai import Agent, ModelHTTPError, UsageLimits, exceptions
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.settings import ModelSettings

from tests.eval_clinic.live import Attempt, recipe
from tests.eval_clinic.shop import PROMPT, Count, always, api, history, invents, refusal, refusing, says, scripted, shop
from tests.stub.scenario import Rejection, Step


@recipe
async def unknown_tool_without_tools() -> AsyncIterator[Attempt]:
    model = scripted(says("I will look it up.", ToolCallPart("web_search", {"query": "what the till holds"})))
    yield Attempt(Agent(model, output_type=str), PROMPT)


@recipe
async def invented_tools_between_real_ones() -> AsyncIterator[Attempt]:
    yield Attempt(shop(FunctionModel(invents(True))), PROMPT, {"usage_limits": UsageLimits(request_limit=12)})


@recipe
async def wrong_arguments_type() -> AsyncIterator[Attempt]:
    yield Attempt(shop(scripted(says(ToolCallPart("count_coins", {"drawer": "the upper one"})))), PROMPT)


@recipe
async def prose_for_a_structure() -> AsyncIterator[Attempt]:
    yield Attempt(shop(scripted(says("The till holds 120 coins and no notes.")), output_type=Count), PROMPT)


@recipe
async def cut_output_arguments() -> AsyncIterator[Attempt]:
    call = ToolCallPart("final_result", '{"coins": 120, "no')
    yield Attempt(shop(scripted(says(call, finish="length")), output_type=Count), PROMPT)


@recipe
async def cut_text_by_the_vendor() -> AsyncIterator[Attempt]:
    """Returned as a success."""
    async with api(always(text="The till holds 120 coins in the upper drawer and", stop="output_limit")) as model:
        yield Attempt(shop(model), PROMPT, {"model_settings": ModelSettings(max_tokens=12)})


@recipe
async def nothing_but_thoughts_to_the_limit() -> AsyncIterator[Attempt]:
    yield Attempt(shop(scripted(says(finish="length"))), PROMPT, {"model_settings": ModelSettings(max_tokens=16)})


@recipe
async def filtered() -> AsyncIterator[Attempt]:
    yield Attempt(shop(scripted(says(finish="content_filter"))), PROMPT)


@recipe
async def usage_limit_of_calls() -> AsyncIterator[Attempt]:
    options = {"usage_limits": UsageLimits(tool_calls_limit=3)}
    yield Attempt(shop(scripted(says(ToolCallPart("list_drawers", {})))), PROMPT, options)


@recipe
async def request_limit_by_a_real_tool() -> AsyncIterator[Attempt]:
    options = {"usage_limits": UsageLimits(request_limit=4)}
    yield Attempt(shop(scripted(says(ToolCallPart("count_coins", {"drawer": 1})))), PROMPT, options)


@recipe
async def context_window_with_the_answer() -> AsyncIterator[Attempt]:
    told = (
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or "
        "`max_tokens` and try again"
    )
    async with api(refusal(400, "invalid_request_error", told)) as model:
        options = {"message_history": history(), "model_settings": ModelSettings(max_tokens=21333)}
        yield Attempt(shop(model), PROMPT, options)


@recipe
async def rate_limit_with_a_reset() -> AsyncIterator[Attempt]:
    async with api(
        refusal(429, "rate_limit_error", "Number of request tokens exceeds your per-minute limit", 42)
    ) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def overload_after_a_tool() -> AsyncIterator[Attempt]:
    overloaded = ModelHTTPError.for_category(exceptions.ModelOverloadedError, status_code=503, model_name="gpt-5.5",
                                             body={"code": "server_is_overloaded"})  # fmt: skip
    replies = iter([says(ToolCallPart("count_coins", {"drawer": 1}))])

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        for made in replies:
            return made
        raise overloaded

    yield Attempt(shop(FunctionModel(reply)), PROMPT)


@recipe
async def bad_gateway() -> AsyncIterator[Attempt]:
    async with api(refusal(502, "api_error", "<html><head><title>502 Bad Gateway</title></head></html>")) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def connection_dropped() -> AsyncIterator[Attempt]:
    async with api(always(fault="drop")) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def timeout_of_the_client() -> AsyncIterator[Attempt]:
    async with api(always(fault="hang"), timeout=0.5) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def forbidden() -> AsyncIterator[Attempt]:
    async with api(refusal(403, "permission_error", "Your API key does not have permission to use the model")) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def no_credit() -> AsyncIterator[Attempt]:
    told = (
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or "
        "purchase credits."
    )
    async with api(refusal(400, "invalid_request_error", told)) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def unknown_model_of_another_vendor() -> AsyncIterator[Attempt]:
    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise ModelHTTPError.for_category(exceptions.ModelNotFoundError, status_code=404, model_name="gpt-nonesuch",
                                          body={"code": "model_not_found"})  # fmt: skip

    yield Attempt(shop(FunctionModel(reply)), PROMPT)


@recipe
async def tool_misses_a_key() -> AsyncIterator[Attempt]:
    agent = Agent(scripted(says(ToolCallPart("price", {"article": "gin"}))))

    @agent.tool_plain
    def price(article: str) -> int:
        """The price of an article."""
        return {"rum": 1200}[article]

    yield Attempt(agent, PROMPT)


@recipe
async def tool_wants_another_form() -> AsyncIterator[Attempt]:
    yield Attempt(refusing("day must be YYYY-MM-DD, not 'tomorrow'"), PROMPT)


@recipe
async def tool_loses_its_connection() -> AsyncIterator[Attempt]:
    agent = Agent(scripted(says(ToolCallPart("stock", {"article": "gin"}))))

    @agent.tool_plain
    def stock(article: str) -> int:
        """How much is left."""
        raise ConnectionResetError(104, "Connection reset by peer")

    yield Attempt(agent, PROMPT)


@recipe
async def cancelled_from_outside() -> AsyncIterator[Attempt]:
    async def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        task = asyncio.current_task()
        assert task
        task.cancel()
        await asyncio.sleep(30)
        return says("-")

    yield Attempt(shop(FunctionModel(reply)), PROMPT)


@recipe
async def history_with_an_orphaned_call() -> AsyncIterator[Attempt]:
    """The vendor refuses a history whose call of a tool has no result."""
    told = (
        "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01A. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message."
    )
    async with api(refusal(400, "invalid_request_error", told)) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def healthy_structure() -> AsyncIterator[Attempt]:
    calls = says(ToolCallPart("list_drawers", {})), says(ToolCallPart("final_result", {"coins": 121, "notes": 0}))
    yield Attempt(shop(scripted(*calls), output_type=Count), PROMPT)


@recipe
async def healthy_after_wrong_arguments() -> AsyncIterator[Attempt]:
    calls = (says(ToolCallPart("count_coins", {"drawer": "upper"})), says(ToolCallPart("count_coins", {"drawer": 1})),
             says("121 coins."))  # fmt: skip
    yield Attempt(shop(scripted(*calls)), PROMPT)


@recipe
async def healthy_after_a_limit() -> AsyncIterator[Attempt]:
    steps = Step(error=Rejection(429, "rate_limit_error", "Slow down", 1)), Step(text="It holds 121 coins.")
    async with api(*steps, retries=2) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def healthy_after_a_tool_failed() -> AsyncIterator[Attempt]:
    agent = Agent(scripted(says(ToolCallPart("stock", {"article": "gin"})), says("Nobody knows how much gin is left.")))

    @agent.tool_plain
    def stock(article: str) -> int:
        """How much is left."""
        raise exceptions.ToolFailed("the warehouse is closed")

    yield Attempt(agent, PROMPT)
