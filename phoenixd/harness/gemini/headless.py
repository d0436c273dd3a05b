"""The Gemini CLI as the writer of a brief. Pure.

Measured with 0.61.0. It keeps every session, and no flag prevents that; hooks, MCP servers, extensions and GEMINI.md
come from the user's directory: so it gets a directory of its own, with links to the login, that goes with the call.
How to sign in stands in the user's settings, and keys often in the .env beside them: these are carried over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from phoenixd.core.spec import AgentSpec
from phoenixd.harness.headless import SYSTEM, Call, Said, count, failed, json_table, program
from phoenixd.harness.login import Login
from phoenixd.harness.trust import Read

MODEL = "flash-lite"
"""The CLI's own word for its smallest model."""

PACKAGE = "@google/gemini-cli"
LOGIN = "run gemini once as the agent's user, and choose how to sign in"
FLAGS = (
    "--output-format",
    "json",
    "--model",
    MODEL,
    "--extensions",
    "none",
    "--skip-trust",
    "--approval-mode",
    "default",
)
_LOGIN_FILES = ("oauth_creds.json", "google_accounts.json", "gemini-credentials.json")
_VARIABLE = re.compile(
    r"\s*(?:export\s+)?((?:GEMINI_API_KEY|GOOGLE_(?:API_KEY|CLOUD_\w+|APPLICATION_CREDENTIALS|GENAI_\w+|GEMINI_BASE_URL"
    r"|VERTEX_BASE_URL)|HTTPS?_PROXY|NO_PROXY))\s*=\s*(.*?)\s*"
)


class GeminiHeadless:
    """Implements Headless."""

    model = MODEL

    def problem(self, spec: AgentSpec) -> tuple[str, str] | None:
        return None

    def call(self, spec: AgentSpec, environment: Mapping[str, str], home: str, read: Read) -> Call:
        users = f"{environment.get('GEMINI_CLI_HOME') or environment.get('HOME', '/')}/.gemini"
        auth = _in(_in(json_table(read(f"{users}/settings.json")), "security"), "auth")
        found = _variables(read(f"{users}/.env"))
        login = {name: value for name, value in found.items() if not environment.get(name)}
        known = {**environment, **login}
        selected = auth.get("selectedType")
        if selected is None and known.get("GEMINI_API_KEY"):
            auth = {"selectedType": "gemini-api-key"}
        paths = (f"{users}/oauth_creds.json", f"{users}/gemini-credentials.json")
        needs_file = not known.get("GEMINI_API_KEY") and not known.get("GOOGLE_API_KEY") and selected != "vertex-ai"
        variables = {
            **login,
            "GEMINI_CLI_HOME": home,
            "GEMINI_SYSTEM_MD": f"{home}/system.md",
            "GEMINI_CLI_NO_RELAUNCH": "true",
            "NO_COLOR": "1",
        }
        return Call(
            (*program(spec, "gemini"), *FLAGS),
            variables,
            {".gemini/settings.json": json.dumps(_settings(auth)), "system.md": f"{SYSTEM}\n"},
            {f".gemini/{name}": f"{users}/{name}" for name in _LOGIN_FILES},
            Login(paths, LOGIN) if needs_file else None,
        )

    def said(self, code: int, output: str, errors: str) -> Said:
        begin = output.find("{")
        found = json_table(output[begin:].encode("utf-8", "replace") if begin >= 0 else None)
        models = _in(_in(found, "stats"), "models")
        tokens = sum(count(_in(_in(models, name), "tokens"), ("total",)) for name in models)
        text, error = found.get("response"), _in(found, "error")
        if code == 0 and isinstance(text, str) and text and not error:
            # An answer that was cut by the output limit is a success as well.
            return Said(text, tokens, ended="unknown")
        words = str(error.get("message") or _message(errors) or errors or output)
        return failed("gemini", PACKAGE, words, LOGIN, tokens)


def _settings(auth: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "security": {"auth": dict(auth), "folderTrust": {"enabled": True}},
        "tools": {"core": ["none"]},
        "mcp": {"allowed": ["none"]},
        "hooksConfig": {"enabled": False},
        "skills": {"enabled": False},
        "experimental": {"enableAgents": False, "topicUpdateNarration": False},
        "context": {"fileName": ["none"]},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "maxAttempts": 2},
        "privacy": {"usageStatisticsEnabled": False},
    }


def _variables(content: bytes | None) -> dict[str, str]:
    """What a .env says of where the model is asked, and by which key."""
    lines = (content or b"").decode("utf-8", "replace").splitlines()
    told = [found for found in map(_VARIABLE.fullmatch, lines) if found]
    return {found[1]: found[2].strip("\"'") for found in told}


def _message(errors: str) -> str:
    """The message of the JSON that stands at the end of standard error where a call failed."""
    begin = errors.rfind('\n{\n  "session_id"')
    found = json_table(errors[begin:].strip().encode() if begin >= 0 else None)
    return str(_in(found, "error").get("message", ""))


def _in(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = table.get(key)
    return found if isinstance(found, dict) else {}
