"""The call behind a question, read back from the text that the item keeps; a text that is no whole call has none.

The text is `TOOL COMMAND` for a plain command, else `TOOL {...}` with the whole input as JSON. A command that begins
with a brace is kept as JSON too, so the one is never taken for the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

QUESTION, PLAN, PERMISSION = "question", "plan", "permission"
KINDS = {"AskUserQuestion": QUESTION, "ExitPlanMode": PLAN}
"""Tools whose request for permission asks for something else than that."""
ASKS = frozenset({PERMISSION, QUESTION, PLAN})
"""Kinds of waiting that begin with a request which can be held for an answer."""
PROPOSAL = "proposal"
"""The kind of item by which the clinic asks whether a treatment is to be done."""
DIALOGS = (PERMISSION, QUESTION, PLAN, "dialog")
"""Kinds of waiting that stand on the screen, where no prompt can be typed meanwhile."""
MAX_DEPTH = 50
"""How deep a call is taken apart, in objects and lists within each other. An agent chooses the depth, and to write
deeper JSON than this runs out of stack."""


class Asked(Protocol):
    """An inbox item, or what a run waits for."""

    @property
    def kind(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def tool(self) -> str | None: ...
    @property
    def whole(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Call:
    """A tool and all that it is given."""

    tool: str
    given: Mapping[str, Any]


def kind_of(tool: str | None) -> str:
    """What a request for permission to use this tool really is."""
    return KINDS.get(tool or "", PERMISSION)


def call_of(asked: Asked) -> Call | None:
    """The call that is asked for; None where the text does not hold all of it."""
    if not asked.whole or not asked.tool or not asked.text.startswith(f"{asked.tool} "):
        return None
    rest = asked.text[len(asked.tool) + 1 :]
    if not rest.startswith("{"):
        return Call(asked.tool, {"command": rest})
    try:
        given = json.loads(rest)
    except (ValueError, RecursionError):
        return None
    return Call(asked.tool, given) if isinstance(given, dict) and not _is_deep(given) else None


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        lists = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [inner for one in lists for inner in one]
        if not level:
            return False
    return True
