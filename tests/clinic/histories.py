"""Histories of messages for the clinic's tests, a window that they overrun, and what stands in them."""

from __future__ import annotations

from typing import Any

from pydantic_ai import exceptions
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo

from tests.clinic.agents import says


def weather(city: str, days: int) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


def user_words(messages: list[ModelMessage]) -> str:
    return "\n".join(str(part.content) for one in messages for part in one.parts if isinstance(part, UserPromptPart))


def notes_of(error: BaseException) -> str:
    return "\n".join(getattr(error, "__notes__", ()))


WINDOW = getattr(exceptions, "ModelContextWindowExceededError", None)


def window_error() -> Exception:
    assert WINDOW is not None
    return WINDOW("a model", "full")  # type: ignore[no-any-return]


def size(messages: list[ModelMessage]) -> int:
    return sum(len(str(part)) for one in messages for part in one.parts)


def window(most: int) -> Any:
    def answers(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if size(messages) > most:
            raise window_error()
        return says("within the window")

    return answers


def long_history(turns: int) -> list[ModelMessage]:
    first = ModelRequest(parts=[SystemPromptPart("You are the keeper."), UserPromptPart("turn 0 " + "word " * 60)])
    said: list[ModelMessage] = [first, ModelResponse(parts=[TextPart("answer 0")])]
    for turn in range(1, turns):
        said.append(ModelRequest(parts=[UserPromptPart(f"turn {turn} " + "word " * 60)]))
        said.append(ModelResponse(parts=[ToolCallPart("look", {"n": turn}, f"id-{turn}-a")]))
        said.append(ModelRequest(parts=[ToolReturnPart("look", "seen", f"id-{turn}-a")]))
        said.append(ModelResponse(parts=[TextPart(f"answer {turn}")]))
    return said


def orphans(messages: list[ModelMessage]) -> list[str]:
    called: set[str] = set()
    found: list[str] = []
    for one in messages:
        for part in one.parts:
            if isinstance(part, ToolCallPart):
                called.add(part.tool_call_id)
            elif isinstance(part, ToolReturnPart) and part.tool_call_id not in called:
                found.append(part.tool_call_id)
    returned = {part.tool_call_id for one in messages for part in one.parts if isinstance(part, ToolReturnPart)}
    return found + sorted(called - returned)
