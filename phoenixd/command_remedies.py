"""What makes a command be there that is not found. Blocking."""

from __future__ import annotations

import os
from shlex import quote

from phoenixd.core.spec import AgentSpec
from phoenixd.remedies import Command, Remedy, Sentence, anew


def command_remedy(command: str, key: str = "argv") -> Remedy:
    """How a command that is not found becomes one that is. A name is looked for on PATH, a path is not.

    key: where the configuration names it, as a person finds it there: `command in [alerts]`.
    """
    if "/" not in command:
        return Sentence(f"install {command}, or give its whole path as {key}")
    if os.path.isabs(command) and os.path.isfile(command):
        return Command(f"chmod +x {quote(command)}")
    return Sentence(f"put a program that can be run at {command}, or name another one as {key}")


def agents_command_remedy(spec: AgentSpec, at: str | None = None) -> Remedy:
    """The same for an agent's own command, whose PATH is another one than that of the shell where this is read.

    at: where that shell finds it, if it does.
    """
    command, place = spec.argv[0], f"the first word of argv{f' in {spec.source}' if spec.source else ''}"
    if "/" in command:
        return command_remedy(command, place)
    if at is not None:
        told = f"your shell finds it at {at}: write that as {place}"
    else:
        whole = f"where your shell alone finds it, write the path that this prints as {place}: command -v"
        told = f"install {command}; {whole} {quote(command)}"
    if spec.env_from != "daemon" or "PATH" in dict(spec.env):
        return Sentence(told)
    return Sentence(f"{told}, or have the daemon take up that shell's PATH there: {anew()}")
