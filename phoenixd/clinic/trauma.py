"""Triage: a failed run as a TraumaContext, bounded and without secrets."""

from __future__ import annotations

import json
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from phoenixd.clinic.observing import Injury
from phoenixd.clinic.places import is_own
from phoenixd.documents.cleaner import Cleaner
from phoenixd.documents.clinic import ToolCall, TraumaContext

PROMPT_LIMIT, MESSAGE_LIMIT, STACK_LIMIT, CALL_LIMIT, SUMMARY_LIMIT = 4500, 4000, 2500, 5000, 1000
"""Characters of each field; together they leave room for what stands between them (see reading.LIMIT)."""
NAME_LIMIT = 80
FRAMES, MOST_CALLS, MOST_CAUSES = 3, 6, 3
Prompt = str | Sequence[UserContent] | None


def examine(prompt: Prompt, injury: Injury, clean: Cleaner, long_history: int) -> TraumaContext:
    """What the clinic is told of a failed run."""
    return TraumaContext(
        original_prompt=clean.head(prompt_text(prompt), PROMPT_LIMIT),
        error_type=type(injury.error).__name__[:NAME_LIMIT],
        error_message=clean.tail(message_of(injury.error), MESSAGE_LIMIT),
        stack_trace=clean.tail(frames(injury.error), STACK_LIMIT),
        tool_calls=tuple(_tool_calls(injury, clean)) or None,
        history_summary=_history_summary(injury.messages, clean) if len(injury.messages) > long_history else None,
    )


def prompt_text(prompt: Prompt) -> str:
    """A prompt as text; what is no text is named by its kind."""
    if prompt is None:
        return ""
    if isinstance(prompt, str):
        return prompt
    return "\n".join(part if isinstance(part, str) else f"[{type(part).__name__}]" for part in prompt)


def message_of(error: BaseException) -> str:
    """The words of an error, and of those that it was raised from."""
    told = [_words(error)]
    cause = error.__cause__
    while cause is not None and len(told) <= MOST_CAUSES:
        told.append(f"raised from {type(cause).__name__}: {_words(cause)}")
        cause = cause.__cause__
    return "\n".join(told)


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as failure:  # noqa: BLE001 - a class of somebody else, and the first error matters more
        return f"[its words cannot be had: {type(failure).__name__}]"


def frames(error: BaseException) -> str:
    """The last three places in the program's own code; where it has none, the last three at all."""
    places = traceback.extract_tb(error.__traceback__)
    own = [place for place in places if is_own(place.filename)]
    chosen = (own or places)[-FRAMES:]
    return "".join(traceback.format_list(chosen)) + f"{type(error).__name__}"


def _tool_calls(injury: Injury, clean: Cleaner) -> list[ToolCall]:
    """The newest answer's calls whole, and before them the last ones by name."""
    answered = {
        part.tool_call_id: part.outcome
        for message in injury.messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
    newest = injury.newest_calls()[-MOST_CALLS:]
    told = [_call(call, injury, answered, clean, CALL_LIMIT // max(1, len(newest))) for call in newest]
    earlier = [
        _call(part, injury, answered, clean, 0)
        for message in injury.messages
        if isinstance(message, ModelResponse)
        for part in message.parts
        if isinstance(part, ToolCallPart) and all(part is not call for call in newest)
    ]
    return [*earlier[-MOST_CALLS:], *told]


def _call(call: ToolCallPart, injury: Injury, answered: Mapping[str, str], clean: Cleaner, limit: int) -> ToolCall:
    if not injury.has(call.tool_name):
        outcome = "unknown tool"
    else:
        outcome = answered.get(call.tool_call_id, "unanswered")
    return ToolCall(
        tool_name=clean.head(call.tool_name, NAME_LIMIT),
        args=clean.head(arguments(call), limit) if limit else "",
        call_id=clean.head(call.tool_call_id, NAME_LIMIT),
        outcome=outcome,
    )


def arguments(call: ToolCallPart) -> str:
    """A call's arguments as the model wrote them."""
    args: Any = call.args
    if isinstance(args, str):
        return args
    try:
        return json.dumps(args, default=str, ensure_ascii=False)
    except Exception as failure:  # noqa: BLE001 - values of somebody else, and the first error matters more
        return f"[its arguments cannot be shown: {type(failure).__name__}]"


def _history_summary(messages: Sequence[ModelMessage], clean: Cleaner) -> str:
    called = Counter(
        part.tool_name
        for message in messages
        if isinstance(message, ModelResponse)
        for part in message.parts
        if isinstance(part, ToolCallPart)
    )
    asked = [
        prompt_text(part.content)
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]
    tools = ", ".join(f"{name} ({count})" for name, count in called.most_common(10)) or "none"
    newest = f" The user's newest words: {asked[-1]}" if asked else ""
    return clean.head(f"{len(messages)} messages. Tools called: {tools}.{newest}", SUMMARY_LIMIT)
