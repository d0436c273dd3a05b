"""One run of the caller's agent: its result, or the injury with all that could be seen of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic_ai import capture_run_messages
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.messages import ModelMessage, TextPart, ToolCallPart, UserContent
from pydantic_ai.run import AgentRunResult
from pydantic_ai.usage import RunUsage, UsageLimits

from phoenixd.clinic.failures import AnswerCut
from phoenixd.clinic.observing import Injury, Observer
from phoenixd.clinic.rules import PASSES

Out = TypeVar("Out")
CUT_BY = frozenset({"length", "content_filter", "error"})
"""Finish reasons with which a text is not whole."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the next run is given. prompt: None where the history ends with what is to be answered. instructions: what
    is added to the agent's own."""

    prompt: str | Sequence[UserContent] | None
    history: tuple[ModelMessage, ...] = ()
    instructions: tuple[str, ...] = ()


class Runs(Generic[Out]):
    """usage: of all runs, those that failed as well. limits: the caller's, for all of them together; without them each
    run may make `request_limit` requests."""

    def __init__(
        self, agent: AbstractAgent[Any, Out], deps: Any, limits: UsageLimits | None, request_limit: int
    ) -> None:
        self.usage = RunUsage()
        self.count = 0
        self._agent, self._deps, self._limits, self._request_limit = agent, deps, limits, request_limit

    async def run(self, order: Order, takes_cut: bool) -> AgentRunResult[Out] | Injury:
        """Run once. takes_cut: a text that was cut is a result as any other. What stops the program passes."""
        self.count += 1
        observer = Observer()
        # pydantic-ai keeps no messages with an exception; these hold the call that failed.
        with capture_run_messages() as messages:
            try:
                result = await self._agent.run(
                    order.prompt,
                    message_history=list(order.history) or None,
                    deps=self._deps,
                    usage=self.usage,
                    usage_limits=self._limits or UsageLimits(request_limit=self.usage.requests + self._request_limit),
                    instructions=list(order.instructions) or None,
                    capabilities=[observer],
                    infer_name=False,
                )
            except BaseException as error:
                if not isinstance(error, Exception) or isinstance(error, PASSES):
                    raise
                return self._injury(error, messages, observer)
        cut = "" if takes_cut else cut_by(result)
        return self._injury(AnswerCut(cut, result), messages, observer) if cut else result

    def _injury(self, error: Exception, messages: Sequence[ModelMessage], observer: Observer) -> Injury:
        return Injury(error, tuple(messages), observer.offered, observer.outputs, tuple(observer.executed))

    @property
    def is_limited(self) -> bool:
        """The caller gave limits, which a further run shares."""
        return self._limits is not None


def cut_by(result: AgentRunResult[Any]) -> str:
    """The finish reason where the answer is a text that is not whole; empty otherwise."""
    response = result.response
    finish = response.finish_reason or ""
    if finish not in CUT_BY or any(isinstance(part, ToolCallPart) for part in response.parts):
        return ""
    if isinstance(result.output, str):
        return finish
    # An answer that was read from JSON is whole: what was cut would not have been read.
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    return "" if _is_json(text) else finish


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
