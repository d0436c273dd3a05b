"""The three CLIs as the contract suite takes them, each with what differs where a person or an API speaks to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.real.agent_stage import Cli
from tests.real.claude_room import bash
from tests.real.claude_stage import ClaudeCli
from tests.real.codex_cli import CodexCli
from tests.real.gemini_cli import GeminiCli
from tests.stub.scenario import Rejection, Step


class Contracted(Cli):
    """A CLI in the contract suite."""

    leave, clear, compact = "/exit", "/clear", "/compact"

    def shell(self, command: str) -> Step:
        """A reply that runs a command."""
        raise NotImplementedError

    def ask_first(self) -> None:
        """Have it ask before it runs a command."""
        raise NotImplementedError

    limited: Rejection
    """A limit that is over in two hours."""
    overloaded: Rejection
    refused: Rejection
    too_long: Rejection


class Claude(ClaudeCli, Contracted):
    limited = Rejection(429, "rate_limit_error", "You have hit your limit", retry_after=7200)
    overloaded = Rejection(529, "overloaded_error", "Overloaded")
    refused = Rejection(401, "authentication_error", "invalid x-api-key")
    too_long = Rejection(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum")

    def variables(self, home: Path, stub: Any) -> dict[str, str]:
        return {**super().variables(home, stub), "CLAUDE_CODE_MAX_RETRIES": "1"}

    def shell(self, command: str) -> Step:
        return bash(command)

    def ask_first(self) -> None:
        # What 2.1.332 takes for its default asks nobody.
        self.settings = {"permissions": {"defaultMode": "default"}}


class Codex(CodexCli, Contracted):
    limited = Rejection(429, "usage_limit_reached", "The usage limit has been reached", retry_after=7200)
    overloaded = Rejection(503, "server_is_overloaded", "Overloaded")
    refused = Rejection(401, "invalid_api_key", "Incorrect API key provided")
    too_long = Rejection(400, "context_length_exceeded", "Your input exceeds the context window of this model")

    def ask_first(self) -> None:
        self.asks = True


class Gemini(GeminiCli, Contracted):
    leave, compact = "/quit", "/compress"
    limited = Rejection(429, "GenerateRequestsPerDayPerProjectPerModel", "Quota exceeded", retry_after=7200)
    overloaded = Rejection(503, "unavailable", "The model is overloaded")
    refused = Rejection(401, "unauthenticated", "API keys are not supported by this API")
    too_long = Rejection(400, "invalid_argument", "The input token count exceeds the maximum number of tokens allowed")

    def ask_first(self) -> None:
        self.asks = True


CONTRACTED: dict[str, type[Claude] | type[Codex] | type[Gemini]] = {"claude": Claude, "codex": Codex, "gemini": Gemini}


def contracted(*gate: str) -> list[object]:
    """Each CLI as a parameter of a test; those that the gate does not name are for `./dev proof claude`."""
    return [pytest.param(name, marks=() if name in gate else pytest.mark.proof) for name in CONTRACTED]
