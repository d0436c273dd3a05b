"""How a prescription becomes the next run's order. The caller's agent and history stay as they are."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    UserContent,
    UserPromptPart,
)
from pydantic_core import PydanticSerializationError

from phoenixd.clinic.history import last_turn, newest_prompt, prompts, shown
from phoenixd.clinic.observing import Injury
from phoenixd.clinic.prescribing import Remedy
from phoenixd.clinic.runs import Order
from phoenixd.clinic.summarizer import Summarizer
from phoenixd.clinic.trauma import Prompt
from phoenixd.documents.cleaner import Cleaner

LOG = logging.getLogger("phoenixd.clinic")


def modified(order: Order, original: Order, remedy: Remedy) -> Order:
    """With the prompt or the instructions that were prescribed."""
    if remedy.instructions:
        told = tuple(dict.fromkeys((*order.instructions, remedy.instructions)))
        order = replace(order, instructions=told)
    if remedy.prompt or remedy.note:
        # One that goes on from a shortened history has no prompt that could be changed.
        history = original.history if order.prompt is None else order.history
        prompt = with_text(original.prompt, remedy.prompt) if remedy.prompt else original.prompt
        order = replace(order, prompt=with_note(prompt, remedy.note), history=history)
    return order


def with_text(prompt: Prompt, text: str) -> str | Sequence[UserContent]:
    """The prompt with other words, and with the pictures and files that it had."""
    if prompt is None or isinstance(prompt, str):
        return text
    return [text, *(part for part in prompt if not isinstance(part, str))]


def with_note(prompt: Prompt, note: str) -> Prompt:
    """The prompt with a note below it."""
    if not note or prompt is None:
        return note or prompt
    return f"{prompt}\n\n{note}" if isinstance(prompt, str) else [*prompt, note]


class Shortening:
    """Makes a history shorter: once by a summary, then down to the last turn. A summary of a summary tells nothing."""

    def __init__(self, summarizer: Summarizer, original: Order, clean: Cleaner) -> None:
        self._summarizer, self._original, self._clean = summarizer, original, clean
        self._is_summarised = False

    async def shorter(self, injury: Injury, order: Order) -> Order | None:
        """The next order; None where nothing is left that could be dropped."""
        if not self._is_summarised:
            self._is_summarised = True
            try:
                found = await self._summarised(injury, order)
            except Exception:
                # A summarizer may be the caller's own; without a summary the last turn is left.
                LOG.exception("clinic.summarizer_failed: only the last turn is kept")
                found = None
            if found is not None:
                return found
        original = self._original
        turn = tuple(last_turn(original.history, answered=original.prompt is not None))
        if original.prompt is None and not turn:
            return None
        is_shorter = weight(turn) < weight(order.history) or order.prompt is not original.prompt
        if not is_shorter and not _got_on(injury, order):
            return None
        return replace(order, prompt=original.prompt, history=turn)

    async def _summarised(self, injury: Injury, order: Order) -> Order | None:
        said, task = injury.messages, _task(injury.messages, order)
        asked = prompts(said[task]) if task is not None else _prompts_of(order)
        if _got_on(injury, order) and isinstance(said[-1], ModelRequest):
            # The run had got on: it goes on from there, and no tool runs twice.
            shorter = with_task(await self._summarizer.shorten(said, self._clean, task), asked)
            if weight(shorter) < weight(said):
                return replace(order, prompt=None, history=tuple(shorter))
        elif order.history:
            place = newest_prompt(order.history) if order.prompt is None else None
            shorter = await self._summarizer.shorten(order.history, self._clean, place)
            if order.prompt is None:
                shorter = with_task(shorter, asked)
            if weight(shorter) < weight(order.history):
                return replace(order, history=tuple(shorter))
        return None


def _task(said: Sequence[ModelMessage], order: Order) -> int | None:
    """The message of a run that holds what is being worked on; None where the caller's own tidying dropped it."""
    if order.prompt is None:
        return newest_prompt(said)
    words = _content(order.prompt)
    for place in range(len(said) - 1, -1, -1):
        if any(_content(part.content) == words for part in prompts(said[place])):
            return place
    return None


def _got_on(injury: Injury, order: Order) -> bool:
    """Whether the run's model had answered before it failed. The caller's agent may tidy its history meanwhile."""
    task = _task(injury.messages, order)
    if order.prompt is None or task is None:
        return bool(injury.executed) or len(injury.messages) > len(order.history) + 1
    return any(isinstance(one, ModelResponse) for one in injury.messages[task + 1 :])


def with_task(messages: Sequence[ModelMessage], asked: Sequence[UserPromptPart]) -> list[ModelMessage]:
    """The messages with what is being worked on: where a summary or the caller's tidying dropped it, it comes first."""
    stands = [_content(part.content) for message in messages for part in prompts(message)]
    missing = [part for part in asked if _content(part.content) not in stands]
    return [ModelRequest(parts=missing), *messages] if missing else list(messages)


def _prompts_of(order: Order) -> list[UserPromptPart]:
    return [UserPromptPart(order.prompt)] if order.prompt is not None else []


def _content(prompt: Prompt) -> object:
    return prompt if prompt is None or isinstance(prompt, str) else list(prompt)


def weight(messages: Sequence[ModelMessage]) -> int:
    """How long a history is, for a comparison with another. One message weighs the same in each."""
    return sum(map(_weight, messages))


def _weight(message: ModelMessage) -> int:
    try:
        return len(ModelMessagesTypeAdapter.dump_json([message]))
    except PydanticSerializationError:
        # A result of the caller's that has no JSON.
        return len(shown(message))
