"""Message histories: where they may be cut, which calls and returns belong together, and how a message reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

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

from phoenixd.clinic.trauma import arguments, prompt_text
from phoenixd.documents.cleaner import Cleaner

LINE_LIMIT = 400


def cut_of(messages: Sequence[ModelMessage], keep: int) -> int:
    """The first of the newest messages that stay: no fewer than `keep`, and no return without its call."""
    cut = max(0, len(messages) - keep)
    while cut > 0 and any(call_answered(part) for part in messages[cut].parts):
        cut -= 1
    return cut


def paired(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages without returns that no call came before, and without calls that no return came after."""
    returned = {call_answered(part) for message in messages for part in message.parts} - {""}
    called: set[str] = set()
    kept: list[ModelMessage] = []
    for place, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            is_newest = place == len(messages) - 1
            parts = [
                part
                for part in message.parts
                if not isinstance(part, ToolCallPart) or part.tool_call_id in returned or is_newest
            ]
            called |= {part.tool_call_id for part in parts if isinstance(part, ToolCallPart)}
            if parts:
                kept.append(message if len(parts) == len(message.parts) else replace(message, parts=parts))
        else:
            asked = [part for part in message.parts if call_answered(part) in {"", *called}]
            if asked:
                kept.append(message if len(asked) == len(message.parts) else replace(message, parts=asked))
    return kept


def last_turn(messages: Sequence[ModelMessage], answered: bool = True) -> list[ModelMessage]:
    """What the user said last, and the answer's text, below the system prompts: no calls, no returns.

    answered=False: the messages end with what is to be answered, a prompt or results of calls. That stays their end.
    """
    asked = newest_prompt(messages)
    if asked is None:
        return []
    front = ModelRequest(parts=[*system_prompts(messages), *prompts(messages[asked])])
    if not answered:
        calls = [place for place in range(asked + 1, len(messages)) if isinstance(messages[place], ModelResponse)]
        return [front, *paired(messages[calls[-1] :])] if calls else [front]
    texts = [
        part
        for message in messages[asked:]
        if isinstance(message, ModelResponse)
        for part in message.parts
        if isinstance(part, TextPart)
    ]
    return [front, ModelResponse(parts=texts[-1:])] if texts else [front]


def newest_prompt(messages: Sequence[ModelMessage]) -> int | None:
    """Where the user said something last; None where that stands nowhere."""
    return next((place for place in range(len(messages) - 1, -1, -1) if prompts(messages[place])), None)


def prompts(message: ModelMessage) -> list[UserPromptPart]:
    """What the user said in a message."""
    return [part for part in message.parts if isinstance(part, UserPromptPart)]


def system_prompts(messages: Sequence[ModelMessage]) -> list[SystemPromptPart]:
    """The system prompts of a history."""
    return [part for message in messages for part in message.parts if isinstance(part, SystemPromptPart)]


def call_answered(part: Any) -> str:
    """The id of the call that a part of a request answers; empty where it answers none."""
    # Older releases answer a refused call with a part of another class.
    is_answer = isinstance(part, ToolReturnPart) or getattr(part, "part_kind", "") == "retry-prompt"
    return str(part.tool_call_id) if is_answer and part.tool_name is not None else ""


def lines_of(message: ModelMessage, clean: Cleaner) -> Iterator[str]:
    """A message in short lines, one for each part that says something."""
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            yield f"user: {clean.head(prompt_text(part.content), LINE_LIMIT)}"
        elif isinstance(part, TextPart) and part.content.strip():
            yield f"assistant: {clean.head(part.content, LINE_LIMIT)}"
        elif isinstance(part, ToolCallPart):
            yield f"assistant called {part.tool_name}({clean.head(arguments(part), LINE_LIMIT)})"
        elif isinstance(part, ToolReturnPart):
            yield f"{part.tool_name} returned: {clean.head(shown(part.content), LINE_LIMIT)}"


def shown(content: object) -> str:
    """A value of somebody else as text, whatever its own methods do."""
    try:
        return str(content)
    except Exception as failure:  # noqa: BLE001 - a value of somebody else, and the first error matters more
        return f"[it cannot be shown: {type(failure).__name__}]"
