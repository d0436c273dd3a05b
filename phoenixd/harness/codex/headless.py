"""Codex as the writer of a brief. Pure.

Measured with 0.169.0. The user's own directory brings hooks, MCP servers, skills and an AGENTS.md into every session,
and no flag leaves out the last one: so it gets a directory of its own, with a link to the login. A renewed login is
written through the link, and its lock stands beside the file itself. The newest models come with a program to run as
their only tool, which no flag takes away, but a catalogue of models of our own does.
A provider that the user configured is carried over, so that what is said of the session goes nowhere else than the
session itself went.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from phoenixd.core.spec import AgentSpec
from phoenixd.harness.codex.toml import inline
from phoenixd.harness.headless import SYSTEM, Call, Said, count, failed, program, toml_table
from phoenixd.harness.login import Login
from phoenixd.harness.trust import Read

MODEL = "gpt-6-luna"
PACKAGE = "@openai/codex"
LOGIN = "codex login, as the user that the agent runs as"
FLAGS = ("exec", "--json", "--skip-git-repo-check", "--ephemeral", "--ignore-rules", "--sandbox", "read-only", "-")

_OFF = (
    "apps", "browser_use", "code_mode", "computer_use", "daemon_auto_start", "goals", "hooks", "image_generation",
    "memories", "multi_agent", "plugins", "remote_plugin", "shell_snapshot", "shell_tool", "sleep_tool",
    "tool_suggest", "unified_exec", "view_image",
)  # fmt: skip
_PROVIDER = ("model_provider", "model_providers", "openai_base_url", "chatgpt_base_url", "cli_auth_credentials_store")
_ELSEWHERE = ("--oss", "--local-provider", "-p", "--profile")


class CodexHeadless:
    """Implements Headless."""

    model = MODEL

    def problem(self, spec: AgentSpec) -> tuple[str, str] | None:
        if (chosen := _chooses_provider(spec)) is None:
            return None
        remedy = 'put that into config.toml, or name a program of your own: brief.writer = "command"'
        return f"codex is started with {chosen}, which decides where the model is asked", remedy

    def call(self, spec: AgentSpec, environment: Mapping[str, str], home: str, read: Read) -> Call:
        users = environment.get("CODEX_HOME") or f"{environment.get('HOME', '/')}/.codex"
        found = toml_table(read(f"{users}/config.toml"))
        kept = {name: found[name] for name in _PROVIDER if name in found}
        if (address := environment.get("OPENAI_BASE_URL")) and "openai_base_url" not in kept:
            kept["openai_base_url"] = address
        is_foreign = kept.get("model_provider", "openai") != "openai"
        named = found.get("model")
        model = named if is_foreign and isinstance(named, str) else MODEL
        key = environment.get("CODEX_API_KEY") or environment.get("OPENAI_API_KEY")
        variables = {"CODEX_HOME": home, **({"CODEX_API_KEY": key} if key else {})}
        return Call(
            (*program(spec, "codex"), *FLAGS),
            variables,
            {"config.toml": _configuration(kept, model, home), "models.json": json.dumps(_catalogue(model))},
            {"auth.json": f"{users}/auth.json"},
            None if is_foreign or key else Login((f"{users}/auth.json",), LOGIN),
        )

    def said(self, code: int, output: str, errors: str) -> Said:
        text, tokens, trouble, is_over = "", 0, "", False
        for event in _events(output):
            item = event.get("item")
            match event.get("type"):
                case "item.completed" if isinstance(item, dict) and item.get("type") == "agent_message":
                    text = str(item.get("text", ""))
                case "turn.completed":
                    is_over = True
                    tokens += count(event.get("usage"), ("input_tokens", "output_tokens"))
                case "error":
                    trouble = str(event.get("message", ""))
                case "turn.failed":
                    error = event.get("error")
                    trouble = str(error.get("message", "")) if isinstance(error, dict) else trouble
                case _:
                    pass  # What it did meanwhile.
        if code == 0 and text:
            return Said(text, tokens, ended="whole" if is_over else "unknown")
        return failed("codex", PACKAGE, trouble or _last_words(errors) or output, LOGIN, tokens)


def _chooses_provider(spec: AgentSpec) -> str | None:
    for before, argument in itertools.pairwise(spec.argv):
        if argument.partition("=")[0] in _ELSEWHERE:
            return argument
        if before in ("-c", "--config") and re.match(r"model_provider|openai_base_url|chatgpt_base_url|oss_", argument):
            return argument
    return None


def _configuration(kept: Mapping[str, Any], model: str, home: str) -> str:
    lines = {
        "model": model,
        "model_catalog_json": f"{home}/models.json",
        "model_reasoning_effort": "low",
        "approval_policy": "never",
        "sandbox_mode": "read-only",
        "web_search": "disabled",
        "project_doc_max_bytes": 0,
        "check_for_update_on_startup": False,
        "include_environment_context": False,
        "include_permissions_instructions": False,
        "include_collaboration_mode_instructions": False,
        "skills": {"include_instructions": False},
        "tools": {"experimental_request_user_input": {"enabled": False}},
        "analytics": {"enabled": False},
        "history": {"persistence": "none"},
        "features": dict.fromkeys(_OFF, False),
        **kept,
    }
    return "".join(f"{name} = {inline(value)}\n" for name, value in lines.items())


def _catalogue(model: str) -> dict[str, Any]:
    """One model, without tools, and with our words in place of its own."""
    return {
        "models": [
            {
                "slug": model,
                "display_name": model,
                "description": "",
                "base_instructions": SYSTEM,
                "shell_type": "disabled",
                "tool_mode": "direct",
                "apply_patch_tool_type": None,
                "multi_agent_version": None,
                "experimental_supported_tools": [],
                "supports_search_tool": False,
                "supports_parallel_tool_calls": False,
                "supports_reasoning_summaries": False,
                "support_verbosity": False,
                "default_reasoning_level": "low",
                "supported_reasoning_levels": [{"effort": "low", "description": "low"}],
                "visibility": "list",
                "supported_in_api": True,
                "priority": 1,
                "truncation_policy": {"mode": "tokens", "limit": 10000},
                "context_window": 200000,
            }
        ]
    }


def _events(output: str) -> Iterator[dict[str, Any]]:
    for line in output.splitlines():
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


def _last_words(errors: str) -> str:
    told = [line for line in errors.splitlines() if line.strip() and not line.startswith("WARNING")]
    return "\n".join(told[:5])
