"""Claude Code as the writer of a brief. Pure.

Measured with 2.1.197 and 2.1.330: with these flags its request holds one system prompt, one message and no tool, and
neither hook, MCP server, memory file nor settings of the user's take part; nothing of the session is left on disk.
A gateway or a helper for keys stands in the user's settings, which it does not read then: they are carried over, so
that what is said of the session goes nowhere else than the session itself went.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from phoenixd.core.spec import AgentSpec
from phoenixd.documents.seal import Told
from phoenixd.harness.claude import launch
from phoenixd.harness.headless import SYSTEM, Call, Said, count, failed, json_table, program
from phoenixd.harness.trust import Read

MODEL = "haiku"
"""The CLI's own word for its smallest model, whatever that is called this year."""

PACKAGE = "@anthropic-ai/claude-code"
LOGIN = "run claude once as the agent's user, and log in with /login"
FLAGS = (
    "-p", "--output-format", "json", "--model", MODEL, "--tools", "", "--safe-mode", "--setting-sources", "",
    "--strict-mcp-config", "--disable-slash-commands", "--no-session-persistence", "--system-prompt", SYSTEM,
)  # fmt: skip
VARIABLES = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "DISABLE_AUTOUPDATER": "1",
    "MAX_THINKING_TOKENS": "0",
}
WHOLE = ("end_turn", "stop_sequence")
_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_LOGIN_VARIABLE = re.compile(
    r"ANTHROPIC_(?:API_KEY|AUTH_TOKEN|BASE_URL|CUSTOM_HEADERS|BEDROCK_\w+|VERTEX_\w+|FOUNDRY_\w+|DEFAULT_HAIKU_MODEL)"
    r"|CLAUDE_CODE_(?:USE|SKIP|CLIENT)_\w+|CLAUDE_CODE_OAUTH_TOKEN|AWS_\w+|CLOUD_ML_REGION|VERTEX_REGION_\w+"
    r"|GOOGLE_APPLICATION_CREDENTIALS|NODE_EXTRA_CA_CERTS|(?:HTTPS?|NO)_PROXY",
    re.IGNORECASE,
)
_HELPERS = ("apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "forceLoginMethod")


class ClaudeHeadless:
    """Implements Headless."""

    model = MODEL

    def problem(self, spec: AgentSpec) -> tuple[str, str] | None:
        return None

    def call(self, spec: AgentSpec, environment: Mapping[str, str], home: str, read: Read) -> Call:
        directory = environment.get("CLAUDE_CONFIG_DIR") or f"{environment.get('HOME', '/')}/.claude"
        settings = json_table(read(f"{directory}/settings.json"))
        login = _login_variables(settings)
        helpers = {name: settings[name] for name in _HELPERS if isinstance(settings.get(name), str)}
        argv = (*program(spec, "claude"), *FLAGS)
        if not helpers:
            return Call(argv, {**login, **VARIABLES}, login=launch.needed_login({**environment, **login}))
        path = "login.json"
        return Call((*argv, "--settings", f"{home}/{path}"), {**login, **VARIABLES}, {path: json.dumps(helpers)})

    def said(self, code: int, output: str, errors: str) -> Said:
        found = json_table(output.encode("utf-8", "replace"))
        tokens = count(found.get("usage"), _TOKENS)
        result = found.get("result")
        if code == 0 and isinstance(result, str) and found.get("is_error") is not True:
            return Said(result, tokens, ended=ended(found))
        status = found.get("api_error_status")
        words = f"{status} {result}" if isinstance(result, str) and status else result or errors or output
        return failed("claude", PACKAGE, str(words), LOGIN, tokens)


def ended(found: Mapping[str, Any]) -> Told:
    """What the printed JSON says of the answer's end. Where a stream ended too early, 2.1.197 prints null and exits 0;
    where it went on by itself after an answer that was cut, all is well, and the result is the last part alone."""
    if "stop_reason" not in found:
        return "unknown"
    return "whole" if found["stop_reason"] in WHOLE else "cut"


def _login_variables(settings: Mapping[str, Any]) -> dict[str, str]:
    """What the user's settings say of where the model is asked, and by which key. There they win over the shell's."""
    table = settings.get("env")
    pairs = table.items() if isinstance(table, dict) else ()
    return {name: value for name, value in pairs if isinstance(value, str) and _LOGIN_VARIABLE.fullmatch(name)}
