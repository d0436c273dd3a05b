"""The real Gemini CLI, and a HOME as its user would have it, with a stub for its vendor."""

from __future__ import annotations

import json
from pathlib import Path

from tests.stub.generate_content import GenerateContentStub
from tests.stub.scenario import Scenario, Step, ToolUse
from tests.stub.server import ApiStub

DUMMY_KEY = "sk-test-dummy"


class GeminiCli:
    """The Gemini CLI. It may do all, unless `asks`."""

    harness = "gemini"

    def __init__(self, binary: Path) -> None:
        self.binary = binary
        self.asks = False

    def stub(self, scenario: Scenario) -> ApiStub:
        return GenerateContentStub(scenario)

    def prepare(self, home: Path, stub: ApiStub) -> None:
        (home / ".gemini").mkdir()
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
        }
        (home / ".gemini" / "settings.json").write_text(json.dumps(settings))

    def variables(self, home: Path, stub: ApiStub) -> dict[str, str]:
        return {
            "HOME": str(home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "GEMINI_API_KEY": DUMMY_KEY,
            "GOOGLE_GEMINI_BASE_URL": stub.base_url,
        }

    def flags(self) -> tuple[str, ...]:
        return () if self.asks else ("--approval-mode", "yolo")

    def shell(self, command: str) -> Step:
        """A reply that runs a command."""
        asked = {"command": command, "description": "Run it"}
        return Step(text="I will run it.", tool_use=(ToolUse("run_shell_command", asked),))
