"""What is said of a failure, and what is known of the answers before it."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.core.treatment.words import RootCause

CERTAIN, LIKELY, GUESS = 0.95, 0.7, 0.3


@dataclass(frozen=True, slots=True)
class Finding:
    """rule: what recognised it. cause: None where it is none of the six. detail: closer than they are, in the words of
    core/treatment. confidence: below 0.5 nothing is known."""

    rule: str
    cause: RootCause | None
    detail: str
    confidence: float = CERTAIN

    @property
    def explanation(self) -> str:
        return EXPLAINED.get(self.detail, self.detail)


@dataclass(frozen=True, slots=True)
class Calls:
    """What is known of a failed run's newest answer. invented: called names that no tool has; known: those that one
    has; outputs: those that only take the answer. finish: the reason for which the answer ended. is_empty: it says and
    calls nothing. strays: calls of tools that do not exist, in all its answers. is_unanswered: the newest request has
    no answer."""

    invented: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    finish: str = ""
    strays: int = 0
    is_empty: bool = False
    is_unanswered: bool = False

    @property
    def are_invented(self) -> bool:
        return bool(self.invented) and not self.known and not self.outputs


NO_CALLS = Calls()

EXPLAINED = {
    "window": "The input is longer than the model's context window.",
    "output_limit": "The model reached its output limit before it was done.",
    "unknown_tool": "The model called a tool that does not exist.",
    "arguments": "The arguments of a tool call do not fit the tool's schema.",
    "output": "The answer does not fit the output type.",
    "login": "The provider refuses the credentials.",
    "billing": "The account has no credit left.",
    "model": "The provider does not know the model.",
    "request_rejected": "The provider refuses the request itself, so that it cannot succeed unchanged.",
    "content_filter": "The provider's filter stopped the answer.",
    "usage_limit": "The run reached a limit of its usage_limits.",
    "configuration": "The agent is set up wrongly.",
    "bug": "Code of a tool, a validator or the program failed.",
    "limit": "The provider limits the rate of requests.",
    "overload": "The provider is overloaded, failed, or could not be reached.",
    "concurrency": "Too many requests wait already.",
    "expired": "The provider no longer has the answer that it was working on.",
    "stream": "The provider broke the answer off.",
    "cancelled": "The run was cancelled.",
    "unknown": "No rule knows this failure.",
}
