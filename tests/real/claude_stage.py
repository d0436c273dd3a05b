"""A daemon with one real Claude Code under it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.real.agent_stage import GOAL as GOAL
from tests.real.agent_stage import NAME as NAME
from tests.real.agent_stage import AgentStage
from tests.real.claude_cli import environment
from tests.stub.messages import MessagesStub
from tests.stub.scenario import Scenario
from tests.stub.server import ApiStub


class ClaudeCli:
    """Claude Code. `settings` is what stands in its user's settings."""

    harness = "claude"

    def __init__(self, binary: Path) -> None:
        self.binary = binary
        self.settings: dict[str, Any] = {"permissions": {"allow": ["Bash(*)"]}}

    def stub(self, scenario: Scenario) -> ApiStub:
        return MessagesStub(scenario)

    def prepare(self, home: Path, stub: ApiStub) -> None:
        (home / ".claude").mkdir(exist_ok=True)
        (home / ".claude" / "settings.json").write_text(json.dumps(self.settings))

    def variables(self, home: Path, stub: ApiStub) -> dict[str, str]:
        return environment(home, stub.base_url)

    def flags(self) -> tuple[str, ...]:
        return ()


class ClaudeStage(AgentStage):
    """The stage as Claude's own tests use it."""

    def __init__(self, binary: Path, root: Path) -> None:
        self._claude = ClaudeCli(binary)
        super().__init__(self._claude, root)

    @property
    def settings(self) -> dict[str, Any]:
        return self._claude.settings

    @settings.setter
    def settings(self, settings: dict[str, Any]) -> None:
        self._claude.settings = settings
