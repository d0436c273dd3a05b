"""`phase list|check` and `memory`: the daemon answers for the project of this directory."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any

from phoenixd.ctl import calls
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import refuse
from phoenixd.ctl.repeating import repeated

SPARED = "surrogateescape"
"""How bytes that are no text are read and written: as they came."""


def look(command: Command) -> int:
    """`phase list|check`: the daemon's answer; without one, what its files say."""
    answer = calls.ask(command, command.operation, _here(command))
    if answer is None:
        # It reads the files of a project, which no question to a daemon has to load.
        from phoenixd.ctl import phases

        return phases.look(command)
    if answer.type.startswith("application/problem+json"):
        problem = json.loads(answer.body)
        return refuse(answer.exit, problem["detail"], repeated(command, problem["remedy"]))
    if not command.as_json:
        told = repeated(command, answer.body.decode("utf-8", SPARED))
        answer.body = told.encode("utf-8", SPARED)
    return calls.tell(command, answer)


def remember(command: Command) -> int:
    """`memory list|share`: of the project of this directory, as far as nothing else is said."""
    return calls.call(replace(command, given=_here(command)))


def _here(command: Command) -> dict[str, Any]:
    """The arguments; an agent's workspace is the daemon's to know, anybody else's is this directory."""
    given = dict(command.given)
    if "workspace" in given or "PHOENIX_AGENT" not in os.environ:
        given["workspace"] = workspace(command)
    return given


def workspace(command: Command) -> str:
    """The directory that is meant, absolute."""
    return os.path.abspath(os.path.expanduser(str(command.given.get("workspace") or ".")))
