"""How a prescription becomes the next run's order. The caller's agent and history stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, UserContent

from phoenixd.clinic.history import last_turn
from phoenixd.clinic.observing import Injury
from phoenixd.clinic.prescribing import Remedy
from phoenixd.clinic.runs import Order
from phoenixd.clinic.summarizer import Summarizer
from phoenixd.clinic.trauma import Prompt
from phoenixd.documents.cleaner import Cleaner


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
            found = await self._summarised(injury, order)
            if found is not None:
                return found
        turn = tuple(last_turn(self._original.history))
        is_shorter = weight(turn) < weight(order.history) or (order.prompt is None)
        if not is_shorter and len(injury.messages) <= len(order.history) + 1:
            return None
        return replace(order, prompt=self._original.prompt, history=turn)

    async def _summarised(self, injury: Injury, order: Order) -> Order | None:
        said = injury.messages
        begun = len(order.history) + 1
        if len(said) > begun and isinstance(said[-1], ModelRequest):
            # The run had got on: it goes on from there, and no tool runs twice.
            task = begun - 1 if order.prompt is not None else None
            shorter = await self._summarizer.shorten(said, self._clean, task)
            if weight(shorter) < weight(said):
                return replace(order, prompt=None, history=tuple(shorter))
        elif order.history:
            shorter = await self._summarizer.shorten(order.history, self._clean)
            if weight(shorter) < weight(order.history):
                return replace(order, history=tuple(shorter))
        return None


def weight(messages: Sequence[ModelMessage]) -> int:
    """How long a history is, for a comparison with another."""
    return len(ModelMessagesTypeAdapter.dump_json(list(messages)))
