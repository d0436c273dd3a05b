"""Remedies of two steps, as they are typed. Standard library alone."""

from __future__ import annotations

COMMANDS = frozenset(["phoenixctl", "systemctl", "sudo", "apt-get", "kill", "chmod", "chown", "mkdir", "mv", "rm"])
"""With which words a remedy begins that is a command, and no sentence."""


def then(first: str, command: str) -> str:
    """What helps, and what is to be typed once it did: one line for a shell where the first is one."""
    if not command:
        return first
    return f"{first} && {command}" if first.partition(" ")[0] in COMMANDS else f"{first}; then: {command}"
