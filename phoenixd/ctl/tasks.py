"""`task run PROMPT|-`: what stands on standard input for -, under a key, so that no repetition runs it twice."""

from __future__ import annotations

import sys

from phoenixd.api import exits
from phoenixd.api.operations.operation import BODY_LIMIT
from phoenixd.ctl.calls import ask, told
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import refuse


def run(command: Command) -> int:
    """Hand the task over, and print its id."""
    prompt = command.given["prompt"]
    if prompt == "-":
        prompt = sys.stdin.buffer.read(BODY_LIMIT + 1).decode("utf-8", "replace")
    if not prompt.strip():
        return refuse(exits.USAGE, "there is nothing to do; - reads standard input", "phoenixctl task run PROMPT")
    return told(command, ask(command, command.operation, {**command.given, "prompt": prompt}))
