"""Runs of pydantic-ai that fail, or do not: each function raises its error live (tests/eval_clinic/live.py)."""

from __future__ import annotations

from collections.abc import AsyncIterator

from pydantic import BaseModel, ConfigDict
from pydantic_ai import Agent, ModelHTTPError, ModelRetry, UsageLimits
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.eval_clinic.live import Attempt, recipe
from tests.eval_clinic.shop import PROMPT, Count, always, api, history, refusal, says, scripted, shop
from tests.stub.scenario import Step, ToolUse

COUNTS = Step(tool_use=(ToolUse("count_coins", {"drawer": 1}),))


class Drawer(BaseModel):
    """A drawer, and nothing else of it."""

    model_config = ConfigDict(extra="forbid")
    number: int


def refused_by(status: int, model: str, body: object) -> FunctionModel:
    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise ModelHTTPError(status_code=status, model_name=model, body=body)

    return FunctionModel(reply)


@recipe
async def tool_of_another_agent() -> AsyncIterator[Attempt]:
    """A call of a tool that some other agent has, through the vendor's API, each time."""
    calls = ToolUse("mcp__till__count", {"drawer": 1})
    async with api(Step(tool_use=(calls,), times=None, match="")) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def argument_too_many() -> AsyncIterator[Attempt]:
    call = ToolCallPart("open_drawer", {"drawer": {"number": 1, "colour": "green"}})
    agent = Agent(scripted(says(call)))

    @agent.tool_plain
    def open_drawer(drawer: Drawer) -> str:
        """Open a drawer."""
        return f"drawer {drawer.number} is open"

    yield Attempt(agent, PROMPT)


@recipe
async def result_that_never_adds_up() -> AsyncIterator[Attempt]:
    right = says(ToolCallPart("final_result", {"coins": -3, "notes": 2}))
    agent = shop(scripted(right), output_type=Count)

    @agent.output_validator
    def adds_up(count: Count) -> Count:
        if count.coins < 0:
            raise ModelRetry(f"coins must be 0 or more, not {count.coins}")
        return count

    yield Attempt(agent, PROMPT)


@recipe
async def requested_more_than_vllm_has() -> AsyncIterator[Attempt]:
    told = {
        "object": "error", "type": "BadRequestError", "param": None, "code": 400,
        "message": "This model's maximum context length is 32768 tokens. However, you requested 41200 tokens (37104 in "
        "the messages, 4096 in the completion). Please reduce the length of the messages or completion.",
    }  # fmt: skip
    model = refused_by(400, "qwen4-coder", told)
    yield Attempt(shop(model), PROMPT, {"message_history": history()})


@recipe
async def prompt_too_long_after_a_tool() -> AsyncIterator[Attempt]:
    full = refusal(400, "invalid_request_error", "prompt is too long: 203911 tokens > 200000 maximum")
    async with api(COUNTS, full) as model:
        yield Attempt(shop(model), PROMPT, {"message_history": history()})


@recipe
async def high_demand_for_gemini() -> AsyncIterator[Attempt]:
    told = {
        "code": 503, "status": "UNAVAILABLE", "message": "This model is currently experiencing high demand. Spikes in "
        "demand are usually temporary. Please try again later.",
    }  # fmt: skip
    yield Attempt(shop(refused_by(503, "gemini-4-pro", {"error": told})), PROMPT)


@recipe
async def requests_a_minute_of_openai() -> AsyncIterator[Attempt]:
    told = {
        "message": "Rate limit reached for gpt-5.5 in organization org-shop on requests per min (RPM): Limit 3, Used "
        "3, Requested 1. Please try again in 20s.",
        "type": "requests", "param": None, "code": "rate_limit_exceeded",
    }  # fmt: skip
    yield Attempt(shop(refused_by(429, "gpt-5.5", told)), PROMPT)


@recipe
async def connection_dropped_after_a_tool() -> AsyncIterator[Attempt]:
    async with api(COUNTS, always(fault="drop")) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def limit_of_answered_tokens() -> AsyncIterator[Attempt]:
    options = {"usage_limits": UsageLimits(output_tokens_limit=12)}
    yield Attempt(shop(scripted(says(ToolCallPart("count_coins", {"drawer": 1})))), PROMPT, options)


@recipe
async def unsupported_parameter() -> AsyncIterator[Attempt]:
    told = {
        "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
        "instead.",
        "type": "invalid_request_error", "param": "max_tokens", "code": "unsupported_parameter",
    }  # fmt: skip
    yield Attempt(shop(refused_by(400, "gpt-5.5", told)), PROMPT)


@recipe
async def prompt_filtered_by_azure() -> AsyncIterator[Attempt]:
    told = {
        "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. "
        "Please modify your prompt and retry.",
        "type": None, "param": "prompt", "code": "content_filter", "status": 400,
    }  # fmt: skip
    yield Attempt(shop(refused_by(400, "gpt-5.5", told)), PROMPT)


@recipe
async def nothing_is_answered() -> AsyncIterator[Attempt]:
    yield Attempt(shop(scripted(says())), PROMPT)


@recipe
async def healthy_after_a_wrong_day() -> AsyncIterator[Attempt]:
    days = [says(ToolCallPart("book", {"day": day})) for day in ("2026-02-30", "2026-02-28")]
    agent = Agent(scripted(*days, says("The takings of 28 February are booked.")))

    @agent.tool_plain
    def book(day: str) -> str:
        """Book the day's takings."""
        if day.endswith("30"):
            raise ModelRetry(f"day {day!r} does not exist")
        return "booked"

    yield Attempt(agent, PROMPT)


@recipe
async def healthy_after_a_dropped_connection() -> AsyncIterator[Attempt]:
    steps = Step(fault="drop", match=""), COUNTS, Step(text="It holds 121 coins.")
    async with api(*steps, retries=2) as model:
        yield Attempt(shop(model), PROMPT)


@recipe
async def healthy_with_a_tool_that_tells_of_errors() -> AsyncIterator[Attempt]:
    agent = Agent(scripted(says(ToolCallPart("read_log", {})), says("The import failed at night; the till is right.")))

    @agent.tool_plain
    def read_log() -> str:
        """The log of the night."""
        return "Error: 429 rate_limit_error; UnexpectedModelBehavior: Exceeded maximum retries (1) for tool 'count'"

    yield Attempt(agent, PROMPT)
