"""Runs of pydantic-ai that fail, or do not: each function raises its error live (tests/eval_clinic/live.py)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from pydantic_ai import Agent, ModelHTTPError, ModelRetry, UsageLimits
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.eval_clinic.live import Attempt, recipe
from tests.eval_clinic.shop import PROMPT, Count, always, api, history, invents, refusal, says, scripted, shop
from tests.stub.scenario import Rejection, Step, ToolUse

COUNTS = Step(tool_use=(ToolUse("count_coins", {"drawer": 1}),))


def refused_by(status: int, model: str, body: object, *before: ModelResponse) -> FunctionModel:
    """Refuses once the answers `before` are given."""
    left = list(before)

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if left:
            return left.pop(0)
        raise ModelHTTPError(status_code=status, model_name=model, body=body)

    return FunctionModel(reply)


@recipe
async def tool_of_another_spelling() -> AsyncIterator[Attempt]:
    """After a good call, the same tool in the spelling of another language, each time."""
    good = says(ToolCallPart("count_coins", {"drawer": 1}))
    yield Attempt(shop(scripted(good, says(ToolCallPart("countCoins", {"drawer": 2})))), PROMPT)


@recipe
async def another_invented_tool_each_time() -> AsyncIterator[Attempt]:
    """A good call in between gives the budget of retries back: only the limit of requests ends it."""
    options = {"usage_limits": UsageLimits(request_limit=9)}
    yield Attempt(shop(FunctionModel(invents(between=True)), retries=3), PROMPT, options)


@recipe
async def argument_in_words() -> AsyncIterator[Attempt]:
    """Through the vendor's API: a number is asked for, and words are given."""
    calls = ToolUse("count_coins", {"drawer": "the upper one"})
    async with api(COUNTS, Step(tool_use=(calls,), times=None, match="")) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def arguments_that_are_no_json() -> AsyncIterator[Attempt]:
    yield Attempt(shop(scripted(says(ToolCallPart("count_coins", "{'drawer': 1,}")))), PROMPT)


@recipe
async def result_without_a_field() -> AsyncIterator[Attempt]:
    """The result is a call as well, and a field of it is missing each time."""
    yield Attempt(shop(scripted(says(ToolCallPart("final_result", {"coins": 121}))), output_type=Count), PROMPT)


@recipe
async def too_long_at_openrouter() -> AsyncIterator[Attempt]:
    told = {
        "code": 400, "message": "This endpoint's maximum context length is 163840 tokens. However, you requested about "
        "171002 tokens (162810 of text input, 8192 in the output). Please reduce the length of either one, or use the "
        '"middle-out" transform to compress your prompt automatically.',
    }  # fmt: skip
    yield Attempt(shop(refused_by(400, "deepseek/deepseek-v4", told)), PROMPT, {"message_history": history()})


@recipe
async def too_long_at_bedrock_after_a_tool() -> AsyncIterator[Attempt]:
    told = {"message": "Input is too long for requested model.", "__type": "ValidationException"}
    good = says(ToolCallPart("count_coins", {"drawer": 1}))
    yield Attempt(shop(refused_by(400, "anthropic.claude-opus-4-8-v1:0", told, good)), PROMPT)


@recipe
async def request_too_large() -> AsyncIterator[Attempt]:
    async with api(refusal(413, "request_too_large", "Request exceeds the maximum size")) as model:
        yield Attempt(shop(model), PROMPT, {"message_history": history()})


@recipe
async def wrong_key_at_azure() -> AsyncIterator[Attempt]:
    told = {
        "code": "401", "message": "Access denied due to invalid subscription key or wrong API endpoint. Make sure to "
        "provide a valid key for an active subscription and use a correct regional API endpoint for your resource.",
    }  # fmt: skip
    yield Attempt(shop(refused_by(401, "gpt-5.5", told)), PROMPT)


@recipe
async def no_credit_after_a_tool() -> AsyncIterator[Attempt]:
    told = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade."
    async with api(COUNTS, refusal(400, "invalid_request_error", told)) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def model_that_vertex_has_not() -> AsyncIterator[Attempt]:
    told = {
        "code": 404, "status": "NOT_FOUND", "message": "Publisher Model `projects/shop/locations/us-central1/publishers"
        "/google/models/gemini-nonesuch` was not found or your project does not have access to it.",
    }  # fmt: skip
    yield Attempt(shop(refused_by(404, "gemini-nonesuch", {"error": told})), PROMPT)


@recipe
async def overloaded_in_the_stream_of_work() -> AsyncIterator[Attempt]:
    async with api(COUNTS, refusal(529, "overloaded_error", "Overloaded")) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def cooling_down_at_litellm() -> AsyncIterator[Attempt]:
    told = {
        "message": "No deployments available for selected model, Try again in 5 seconds. Passed model=gpt-5.5. "
        "pre-call-checks=False, cooldown_list=['b2c1']", "type": "None", "param": "None", "code": "429",
    }  # fmt: skip
    yield Attempt(shop(refused_by(429, "gpt-5.5", told)), PROMPT)


@recipe
async def no_answer_in_time() -> AsyncIterator[Attempt]:
    async with api(COUNTS, always(fault="hang"), timeout=2.0) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def key_error_in_a_tool() -> AsyncIterator[Attempt]:
    agent: Agent[None, str] = Agent(scripted(says(ToolCallPart("price_of", {"article": "tea"}))))

    @agent.tool_plain
    def price_of(article: str) -> int:
        """The price of an article."""
        return {"coffee": 4}[article]

    yield Attempt(agent, PROMPT)


@recipe
async def call_cut_at_the_limit_of_output() -> AsyncIterator[Attempt]:
    cut = says(ToolCallPart("count_coins", '{"drawer": 1'), finish="length")
    yield Attempt(shop(scripted(cut)), PROMPT)


@recipe
async def filtered_by_the_vendor() -> AsyncIterator[Attempt]:
    yield Attempt(shop(scripted(says(finish="content_filter"))), PROMPT)


@recipe
async def healthy_after_an_overloaded_answer() -> AsyncIterator[Attempt]:
    once = Step(error=Rejection(529, "overloaded_error", "Overloaded"), match="")
    async with api(COUNTS, once, Step(text="It holds 121 coins."), retries=2) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def healthy_after_an_invented_tool() -> AsyncIterator[Attempt]:
    wrong, right = says(ToolCallPart("count_till", {})), says(ToolCallPart("count_coins", {"drawer": 1}))
    yield Attempt(shop(scripted(wrong, right, says("It holds 121 coins."))), PROMPT)


@recipe
async def healthy_after_a_wrong_argument() -> AsyncIterator[Attempt]:
    wrong, right = (says(ToolCallPart("count_coins", {"drawer": drawer})) for drawer in ("upper", 1))
    yield Attempt(shop(scripted(wrong, right, says("It holds 121 coins."))), PROMPT)


@recipe
async def healthy_with_a_service_that_was_away() -> AsyncIterator[Attempt]:
    """The tool tells the model of it, and the model asks once more."""
    asked: list[str] = []
    agent = Agent(scripted(*[says(ToolCallPart("stock_of", {"article": "tea"}))] * 2, says("40 boxes are left.")))

    @agent.tool_plain
    def stock_of(article: str) -> int:
        """What is in stock."""
        asked.append(article)
        if len(asked) == 1:
            raise ModelRetry(f"the stock service does not answer: {ConnectionError('timed out')!r}")
        return 40

    yield Attempt(agent, PROMPT)


@recipe
async def healthy_ended_by_its_caller() -> AsyncIterator[Attempt]:
    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise asyncio.CancelledError

    yield Attempt(shop(FunctionModel(reply)), PROMPT)
