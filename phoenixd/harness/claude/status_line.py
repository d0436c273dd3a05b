"""Claude Code's status line: ours, which tells the window's size, and the operator's own, which is shown all the same.

A `statusLine` of the settings that phoenixd passes takes the place of the one in the operator's files. Among those the
CLI would take the nearest: the project's local one, the project's, the user's. Pure: files come by `Read`.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from phoenixd.harness.trust import Read

COMMAND_LIMIT = 4096

READ_FROM = (2, 1, 330)
"""The first release whose screen was read with a status line on. 2.1.197 shows none of its "esc to interrupt" then, and
a turn that is streaming its answer looks idle."""


def ours(hook_program: str) -> dict[str, Any]:
    """The entry of the settings; the CLI has a shell run the command."""
    return {"type": "command", "command": f"{shlex.quote(hook_program)} status-line"}


def is_readable(version: str | None) -> bool:
    """Whether a release's screen can be read with a status line on; of one that is not known nobody can say."""
    found = re.fullmatch(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", version or "")
    return found is not None and tuple(map(int, found.groups())) >= READ_FROM


def operators(environment: Mapping[str, str], cwd: str, read: Read) -> str | None:
    """The command of the status line that the CLI would show without ours; None for none.

    One that is ours already, as in a session within a session, would ask itself for ever.
    """
    user = environment.get("CLAUDE_CONFIG_DIR") or f"{environment.get('HOME', '/')}/.claude"
    for path in (f"{cwd}/.claude/settings.local.json", f"{cwd}/.claude/settings.json", f"{user}/settings.json"):
        entry = _entry(read(path))
        if entry is None:
            continue
        command = entry.get("command")
        if entry.get("type") != "command" or not isinstance(command, str) or not command.strip():
            return None
        is_usable = len(command) <= COMMAND_LIMIT and "\0" not in command
        return command if is_usable and not _is_ours(command) else None
    return None


def window_of(model: str) -> int | None:
    """The tokens that a model's context holds, where its name says it: claude-opus-4-8[1m]. A name without that says
    nothing: 200,000 is never assumed in silence."""
    return 1_000_000 if model.lower().endswith("[1m]") else None


def _is_ours(command: str) -> bool:
    return "phoenix-hook" in command and "status-line" in command


def _entry(content: bytes | None) -> Mapping[str, Any] | None:
    try:
        found = json.loads(content) if content is not None else None
    except (ValueError, RecursionError):
        return None
    entry = found.get("statusLine") if isinstance(found, dict) else None
    return entry if isinstance(entry, dict) else None
