"""The real Codex, and a HOME as its user would have it, with a stub for its vendor."""

from __future__ import annotations

from pathlib import Path

from tests.stub.responses import ResponsesStub
from tests.stub.scenario import Scenario, Step, ToolUse
from tests.stub.server import ApiStub

DUMMY_KEY = "sk-test-dummy"

# The newest model takes one tool, a program; this one takes a tool for each thing. The notice spares a dialog about it.
CONFIG = """
model = "gpt-5.5"
model_provider = "stub"
approval_policy = "{approval}"
sandbox_mode = "{sandbox}"
check_for_update_on_startup = false
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
[model_providers.stub]
name = "stub"
base_url = "{base_url}"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = {retries}
stream_max_retries = {retries}
"""


class CodexCli:
    """Codex. It may do all, unless `asks`; `retries` are those of a request that failed."""

    harness = "codex"

    def __init__(self, binary: Path) -> None:
        self.binary = binary
        self.asks = False
        self.retries = 1

    def stub(self, scenario: Scenario) -> ApiStub:
        return ResponsesStub(scenario)

    def prepare(self, home: Path, stub: ApiStub) -> None:
        (home / ".codex").mkdir()
        approval, sandbox = ("on-request", "read-only") if self.asks else ("never", "danger-full-access")
        config = CONFIG.format(base_url=stub.base_url, approval=approval, sandbox=sandbox, retries=self.retries)
        (home / ".codex" / "config.toml").write_text(config)

    def variables(self, home: Path, stub: ApiStub) -> dict[str, str]:
        return {
            "HOME": str(home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "OPENAI_API_KEY": DUMMY_KEY,
        }

    def flags(self) -> tuple[str, ...]:
        return ()

    def shell(self, command: str) -> Step:
        """A reply that runs a command."""
        return Step(text="I will run it.", tool_use=(ToolUse("exec_command", {"cmd": command, **self._leave()}),))

    def _leave(self) -> dict[str, str]:
        asked = {"sandbox_permissions": "require_escalated", "justification": "It is needed."}
        return asked if self.asks else {}
