"""`completion bash|zsh|fish`: the script that a package puts where the shell looks for it, printed."""

from __future__ import annotations

from collections.abc import Callable

from phoenixd.ctl.grammar import Command
from phoenixd.ctl.shells import bash, fish, zsh

SHELLS: dict[str, Callable[[], str]] = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}


def completion(command: Command) -> int:
    """Print the script."""
    print(SHELLS[command.given["shell"]](), end="")
    return 0
