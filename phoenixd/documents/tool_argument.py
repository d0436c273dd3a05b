"""The one argument of a tool call that tells a person what it does: a command, a file, a pattern, an address."""

from __future__ import annotations

TELLING = (
    "command",
    "file_path",
    "notebook_path",
    "absolute_path",
    "pattern",
    "url",
    "query",
    "skill",
    "description",
    "path",
    "prompt",
    "reason",
    "cron",
)
"""Names of arguments in agent CLIs' tools; the first that is given tells most."""


def argument_of(tool_input: object) -> str:
    """That argument's words; empty where a call has none of them. An agent's words: neither bounded nor redacted."""
    if not isinstance(tool_input, dict):
        return ""
    return next((value for name in TELLING if isinstance(value := tool_input.get(name), str) and value.strip()), "")
