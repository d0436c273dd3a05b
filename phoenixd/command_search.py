"""Where a command is found, as exec looks for it. Blocking."""

from __future__ import annotations

import os


def find_command(command: str, path: str, cwd: str) -> str | None:
    """Where the agent's environment finds its command, as exec will look for it; None where it does not."""
    if "/" in command:
        whole = os.path.join(cwd, command)
        return whole if os.access(whole, os.X_OK) and os.path.isfile(whole) else None
    for directory in path.split(":"):
        whole = os.path.join(directory or cwd, command)
        if os.access(whole, os.X_OK) and os.path.isfile(whole):
            return whole
    return None


def in_shell(command: str, path: str) -> str | None:
    """Where a person's shell finds a command by its name, from whatever directory; None where it does not."""
    if "/" in command:
        return None
    return find_command(command, ":".join(one for one in path.split(":") if os.path.isabs(one)) or "/", "/")
