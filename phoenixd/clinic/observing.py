"""What can be seen of a run while it goes on: the tools that its model is offered, and which of them really ran.

It is given to one run as a capability, so the agent itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from phoenixd.clinic.findings import Calls


@dataclass
class Observer(AbstractCapability[Any]):
    """offered: the tools of the newest request, by name; outputs: those that only take the answer. executed: the names
    of the tools that began to run, in order."""

    offered: dict[str, ToolDefinition] = field(default_factory=dict)
    outputs: dict[str, ToolDefinition] = field(default_factory=dict)
    executed: list[str] = field(default_factory=list)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        parameters = request_context.model_request_parameters
        self.offered = {tool.name: tool for tool in parameters.function_tools}
        self.outputs = {tool.name: tool for tool in parameters.output_tools}
        return request_context

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        # Before and not after: a tool that failed half-way has had its effects as well.
        self.executed.append(call.tool_name)
        return args


@dataclass(frozen=True, slots=True)
class Injury:
    """A run that failed. messages: what was said in it, and before it."""

    error: Exception
    messages: Sequence[ModelMessage]
    offered: dict[str, ToolDefinition]
    outputs: dict[str, ToolDefinition]
    executed: tuple[str, ...]

    def newest_calls(self) -> list[ToolCallPart]:
        """The calls of the newest answer."""
        answers = [one for one in self.messages if isinstance(one, ModelResponse)]
        return [part for part in answers[-1].parts if isinstance(part, ToolCallPart)] if answers else []

    def calls(self) -> Calls:
        """The newest answer's calls, by whether the run had such a tool."""
        names = [call.tool_name for call in self.newest_calls()]
        return Calls(
            invented=tuple(name for name in names if not self.has(name)),
            known=tuple(name for name in names if name in self.offered),
            outputs=tuple(name for name in names if name in self.outputs),
            finish=self._finish(),
            strays=sum(not self.has(call.tool_name) for call in self._all_calls()),
            is_empty=self._is_empty(),
            is_unanswered=self._is_unanswered(),
        )

    def _all_calls(self) -> list[ToolCallPart]:
        answers = [one for one in self.messages if isinstance(one, ModelResponse)]
        return [part for answer in answers for part in answer.parts if isinstance(part, ToolCallPart)]

    def _is_empty(self) -> bool:
        answers = [one for one in self.messages if isinstance(one, ModelResponse)]
        return bool(answers) and not any(getattr(part, "content", part) for part in answers[-1].parts)

    def _is_unanswered(self) -> bool:
        """The newest request has something in it, and no answer came: what a tool failed at leaves an empty one."""
        newest = self.messages[-1] if self.messages else None
        return isinstance(newest, ModelRequest) and bool(newest.parts)

    def _finish(self) -> str:
        answers = [one for one in self.messages if isinstance(one, ModelResponse)]
        return answers[-1].finish_reason or "" if answers else ""

    def has(self, name: str) -> bool:
        return name in self.offered or name in self.outputs
