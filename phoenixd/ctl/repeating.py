"""What is told to be done next is told with the place that was meant: --workspace and --project as they were given."""

from __future__ import annotations

import re
import shlex

from phoenixd.ctl.grammar import Command

PROGRAM = "phoenixctl"
PLACES = ("project", "workspace")
_WORD = r"(?:'[^']*'|[^\s;,'\"]+)"
_PHASE = re.compile(
    rf"{PROGRAM} (?:--socket {_WORD} )?phase (?:import {_WORD}|[a-z]+)"
    rf"(?: (?:phase-{_WORD}|PHASE|--(?:project|workspace) {_WORD}|--[a-z]+))*"
)
"""A command of phases as remedies write it; words of a sentence may follow."""


def repeated(command: Command, text: str) -> str:
    """The text with the places of this command in each command of phases that names none of its own."""
    given = {name: command.given[name] for name in PLACES if command.given.get(name) is not None}

    def told(found: re.Match[str]) -> str:
        words = found[0].split()
        more = [f"--{name} {shlex.quote(str(value))}" for name, value in given.items() if f"--{name}" not in words]
        return " ".join([found[0], *more])

    return _PHASE.sub(told, text) if given else text
