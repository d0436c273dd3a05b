"""The turns of a pydantic-ai history: where the newest begins, what was said, and an anchor in front of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)


def begin_of_turn(messages: Sequence[ModelMessage]) -> int:
    """The newest message in which the user says something; the first one where there is none."""
    places = reversed(range(len(messages)))
    return next((at for at in places if any(isinstance(part, UserPromptPart) for part in messages[at].parts)), 0)


def below(newest: ModelMessage, text: str) -> ModelRequest:
    """A further request with this text. newest: the one whose instructions go along."""
    instructions = newest.instructions if isinstance(newest, ModelRequest) else None
    return ModelRequest(parts=[UserPromptPart(text)], instructions=instructions)


def text_of(response: ModelResponse) -> str:
    """What an answer says."""
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def calls(response: ModelResponse) -> bool:
    """Whether an answer calls a tool: then the turn goes on."""
    return any(isinstance(part, ToolCallPart) for part in response.parts)


def last_answer(messages: Sequence[ModelMessage]) -> str:
    """The text of the newest answer."""
    answers = [one for one in messages if isinstance(one, ModelResponse)]
    return text_of(answers[-1]) if answers else ""


def asked(messages: Sequence[ModelMessage]) -> str:
    """The user's newest words."""
    turn = messages[begin_of_turn(messages)]
    return "\n".join(words(part.content) for part in turn.parts if isinstance(part, UserPromptPart))


def all_text(message: ModelMessage) -> str:
    """All that a message shows the model."""
    shown = (getattr(part, "content", getattr(part, "args", "")) for part in message.parts)
    return "\n".join(words(one) for one in shown)


def words(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence) and not isinstance(content, bytes):
        return "\n".join(one for one in content if isinstance(one, str))
    return str(content)


def with_front(messages: Sequence[ModelMessage], dropped: int, front: str) -> list[ModelMessage]:
    """The messages without the first `dropped`, with a text in front of the first ordinary one.

    System prompts stay, and the text is in none of them: some truncators keep those and drop the oldest others, and a
    code in them would prove nothing.
    """
    kept = list(messages[dropped:])
    for place, one in enumerate(kept):
        if isinstance(one, ModelRequest):
            kept[place] = _fronted(one, front)
            break
    systems: list[ModelRequestPart] = [
        part for one in messages[:dropped] for part in one.parts if isinstance(part, SystemPromptPart)
    ]
    return [ModelRequest(parts=systems), *kept] if systems else kept


def _fronted(request: ModelRequest, front: str) -> ModelRequest:
    parts: list[ModelRequestPart] = list(request.parts)
    for place, part in enumerate(parts):
        if isinstance(part, UserPromptPart):
            content = part.content
            told = f"{front}\n\n{content}" if isinstance(content, str) else [front, *content]
            parts[place] = replace(part, content=told)
            return replace(request, parts=parts)
    return replace(request, parts=[*parts, UserPromptPart(front)])
