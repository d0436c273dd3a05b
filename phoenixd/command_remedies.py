"""What makes a command be there that is not found. Blocking."""

from __future__ import annotations

import os
from shlex import quote

from phoenixd.core.spec import AgentSpec
from phoenixd.remedies import Command, Remedy, Sentence, anew


def command_remedy(command: str) -> Remedy:
    """How a command that is not found becomes one that is. A name is looked for on PATH, a path is not."""
    if "/" not in command:
        return Sentence(f"install {command}, or give its whole path in argv")
    if os.path.isabs(command) and os.path.isfile(command):
        return Command(f"chmod +x {quote(command)}")
    return Sentence(f"put a program that can be run at {command}, or name another one in argv")


def agents_command_remedy(spec: AgentSpec, at: str | None = None) -> Remedy:
    """The same for an agent's own command, whose PATH is another one than that of the shell where this is read.

    at: where that shell finds it, if it does.
    """
    command, remedy = spec.argv[0], command_remedy(spec.argv[0])
    if "/" in command:
        return remedy
    where = f" in {spec.source}" if spec.source else ""
    if at is not None:
        told = f"your shell finds it at {at}: write that as argv[0]{where}"
    else:
        whole = f"where your shell alone finds it, write the path that this prints as argv[0]{where}: command -v"
        told = f"install {command}; {whole} {quote(command)}"
    if spec.env_from != "daemon" or "PATH" in dict(spec.env):
        return Sentence(told)
    return Sentence(f"{told}, or have the daemon take up that shell's PATH there: {anew()}")
