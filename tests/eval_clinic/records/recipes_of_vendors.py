"""More runs of pydantic-ai, most of them refused by a vendor or a gateway (tests/eval_clinic/live.py)."""

from __future__ import annotations

from collections.abc import AsyncIterator

from pydantic_ai import Agent, ModelHTTPError, UsageLimits
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.eval_clinic.live import Attempt, recipe
from tests.eval_clinic.shop import PROMPT, Count, always, api, history, invents, refusal, refusing, says, scripted, shop
from tests.eval_clinic.vendors import page, raw
from tests.stub.scenario import Rejection, Step


def refused_by(error: Exception) -> FunctionModel:
    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise error

    return FunctionModel(reply)


@recipe
async def misspelled_tool() -> AsyncIterator[Attempt]:
    yield Attempt(shop(scripted(says(ToolCallPart("countCoins", {"drawer": 1})))), PROMPT)


@recipe
async def a_new_tool_each_time() -> AsyncIterator[Attempt]:
    agent = shop(FunctionModel(invents(False)), retries=50)
    yield Attempt(agent, PROMPT, {"usage_limits": UsageLimits(request_limit=9)})


@recipe
async def argument_left_out() -> AsyncIterator[Attempt]:
    yield Attempt(shop(scripted(says(ToolCallPart("count_coins", {})))), PROMPT)


@recipe
async def arguments_are_no_json() -> AsyncIterator[Attempt]:
    yield Attempt(shop(scripted(says(ToolCallPart("count_coins", "drawer = 1")))), PROMPT)


@recipe
async def field_of_the_result_missing() -> AsyncIterator[Attempt]:
    yield Attempt(shop(scripted(says(ToolCallPart("final_result", {"coins": 121}))), output_type=Count), PROMPT)


@recipe
async def tool_wants_a_day_that_exists() -> AsyncIterator[Attempt]:
    yield Attempt(refusing("day '2026-02-30' does not exist; give a day of the calendar as YYYY-MM-DD"), PROMPT)


@recipe
async def conversation_too_long_for_anthropic() -> AsyncIterator[Attempt]:
    told = "prompt is too long: 214998 tokens > 200000 maximum"
    async with api(refusal(400, "invalid_request_error", told)) as model:
        yield Attempt(shop(model), PROMPT, {"message_history": history()})


@recipe
async def input_too_long_for_bedrock() -> AsyncIterator[Attempt]:
    async with api(always(error=raw(400, {"message": "Input is too long for requested model."}))) as model:
        yield Attempt(shop(model), PROMPT, {"message_history": history()})


@recipe
async def messages_too_long_for_openai() -> AsyncIterator[Attempt]:
    told = {
        "message": "This model's maximum context length is 128000 tokens. However, your messages resulted in 140211 "
        "tokens. Please reduce the length of the messages.",
        "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded",
    }  # fmt: skip
    error = ModelHTTPError(status_code=400, model_name="gpt-5.5", body=told)
    yield Attempt(shop(refused_by(error)), PROMPT, {"message_history": history()})


@recipe
async def request_larger_than_a_gateway_takes() -> AsyncIterator[Attempt]:
    async with api(always(error=page(413, "Request Entity Too Large"))) as model:
        yield Attempt(shop(model), PROMPT, {"message_history": history()})


@recipe
async def service_unavailable_in_html() -> AsyncIterator[Attempt]:
    async with api(always(error=page(503, "Service Temporarily Unavailable"))) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def gateway_time_out() -> AsyncIterator[Attempt]:
    async with api(always(error=page(504, "Gateway Time-out"))) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def nobody_at_the_port() -> AsyncIterator[Attempt]:
    async with api(is_gone=True) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def throttled_by_bedrock() -> AsyncIterator[Attempt]:
    async with api(always(error=raw(429, {"message": "Too many requests, please wait before trying again."}))) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def stream_of_an_overloaded_vendor() -> AsyncIterator[Attempt]:
    async with api(refusal(529, "overloaded_error", "Overloaded")) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def refused_key() -> AsyncIterator[Attempt]:
    async with api(refusal(401, "authentication_error", "invalid x-api-key")) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def more_credits_for_openrouter() -> AsyncIterator[Attempt]:
    told = {"message": "This request requires more credits, or fewer max_tokens.", "code": 402}
    yield Attempt(shop(refused_by(ModelHTTPError(status_code=402, model_name="kimi-k3", body=told))), PROMPT)


@recipe
async def organization_disabled() -> AsyncIterator[Attempt]:
    async with api(refusal(400, "invalid_request_error", "This organization has been disabled.")) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def refused_by_the_vendor() -> AsyncIterator[Attempt]:
    async with api(always(text="", stop="filtered")) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def tool_divides_by_nothing() -> AsyncIterator[Attempt]:
    agent = Agent(scripted(says(ToolCallPart("average", {"drawer": 1}))))

    @agent.tool_plain
    def average(drawer: int) -> float:
        """The average worth of a coin in a drawer."""
        return 120 / (drawer - 1)

    yield Attempt(agent, PROMPT)


@recipe
async def budget_of_tokens() -> AsyncIterator[Attempt]:
    options = {"usage_limits": UsageLimits(total_tokens_limit=60)}
    yield Attempt(shop(scripted(says(ToolCallPart("count_coins", {"drawer": 1})))), PROMPT, options)


@recipe
async def healthy_after_an_overload() -> AsyncIterator[Attempt]:
    steps = Step(error=Rejection(529, "overloaded_error", "Overloaded")), Step(text="It holds 121 coins.")
    async with api(*steps, retries=2) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def healthy_after_an_unknown_tool() -> AsyncIterator[Attempt]:
    calls = says(ToolCallPart("web_search", {"query": "till"})), says(ToolCallPart("list_drawers", {})), says("Two.")
    yield Attempt(shop(scripted(*calls)), PROMPT)


@recipe
async def healthy_after_prose() -> AsyncIterator[Attempt]:
    right = says(ToolCallPart("final_result", {"coins": 121, "notes": 2}))
    yield Attempt(shop(scripted(says("121 coins and two notes."), right), output_type=Count), PROMPT)


@recipe
async def healthy_talk_of_errors() -> AsyncIterator[Attempt]:
    said = "The log says: 401 invalid x-api-key, then 'prompt is too long'. The till itself is in order."
    yield Attempt(shop(scripted(says(said))), PROMPT)
