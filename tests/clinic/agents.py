"""Models that fail in one way each, and what a run with them needs: no network, no waiting, no chance."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from phoenixd.clinic import ClinicConfig
from phoenixd.documents.clinic import Case

Answer = ModelResponse | BaseException | Callable[[list[ModelMessage], AgentInfo], ModelResponse]
INPUT, OUTPUT = 7, 3
"""Tokens of each answer."""
SECRET = "sk-ant-api03-abcdefghijklmnopqrstuvwx1234"


def says(text: str, finish: str = "stop") -> ModelResponse:
    usage = RequestUsage(input_tokens=INPUT, output_tokens=OUTPUT)
    return ModelResponse(parts=[TextPart(text)], usage=usage, finish_reason=finish)  # type: ignore[arg-type]


def calls(name: str, args: Any = None, call_id: str = "", finish: str = "tool_call") -> ModelResponse:
    part = ToolCallPart(name, args if args is not None else {}, **({"tool_call_id": call_id} if call_id else {}))
    usage = RequestUsage(input_tokens=INPUT, output_tokens=OUTPUT)
    return ModelResponse(parts=[part], usage=usage, finish_reason=finish)  # type: ignore[arg-type]


def http(status: int, **headers: str) -> ModelHTTPError:
    return ModelHTTPError(
        status, "test", {"error": "made up"}, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


@dataclass
class Script:
    """A model that gives one answer after another, the last one for ever; an exception is raised."""

    answers: Sequence[Answer]
    requests: list[list[ModelMessage]] = field(default_factory=list)
    infos: list[AgentInfo] = field(default_factory=list)

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        answer = self.answers[min(len(self.requests), len(self.answers) - 1)]
        self.requests.append(list(messages))
        self.infos.append(info)
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, ModelResponse):
            return ModelResponse(parts=list(answer.parts), usage=answer.usage, finish_reason=answer.finish_reason)
        return answer(messages, info)

    def agent(self, **options: Any) -> Agent[Any, Any]:
        return Agent(FunctionModel(self), **options)


@dataclass
class Watched:
    """A config whose sleep only notes how long it was asked for."""

    slept: list[float] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    during: Callable[[], Awaitable[None]] | None = None

    def config(self, **options: Any) -> ClinicConfig:
        return ClinicConfig(
            **{"sleep": self._sleep, "draw": lambda: 0.5, "now": lambda: 1.8e9, "on_case": self.cases.append, **options}
        )

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self.during is not None:
            await self.during()


def answer(
    cause: str = "ambiguous_instruction", confidence: Any = 0.9, action: str = "modify_prompt", **texts: Any
) -> dict[str, Any]:
    return {
        "diagnosis": {"root_cause": cause, "explanation": "because", "confidence": confidence},
        "prescription": {"action": action, **texts},
    }


class Clinic:
    """A clinic's model with one answer; it keeps what it was asked."""

    def __init__(self, answered: Any) -> None:
        self.answered, self.read, self.infos = answered, [], []
        self.read: list[str]
        self.infos: list[AgentInfo]
        self.model = FunctionModel(self._answer)

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.read += [str(p.content) for one in messages for p in one.parts if isinstance(p, UserPromptPart)][:1]
        self.infos.append(info)
        if isinstance(self.answered, BaseException):
            raise self.answered
        if isinstance(self.answered, str):
            return ModelResponse(parts=[TextPart(self.answered)])
        return calls(info.output_tools[0].name, self.answered)
