"""The footer: one line below an answer, by which marker, role and state can be found again in a transcript (R19-R23).

    :: SYSTEM :: [Resonance: 7f3a9c] [Role: Architect] [State: Stable]

It is recovery data, and no proof: an agent copies it from its own earlier answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from phoenixd.planting import DIGITS

State = Literal["Stable", "Degraded", "Recovering"]
STATES: dict[str, State] = {"Stable": "Stable", "Degraded": "Degraded", "Recovering": "Recovering"}

OPENING = ":: SYSTEM ::"
_LINE = re.compile(
    rf":: SYSTEM :: \[Resonance: (?P<code>[0-9a-f]{{{DIGITS}}})\] \[Role: (?P<role>[^\[\]\r\n]{{1,80}})\] "
    r"\[State: (?P<state>Stable|Degraded|Recovering)\]"
)


@dataclass(frozen=True, slots=True)
class Footer:
    """What an answer says of its writer."""

    code: str
    role: str
    state: State

    def __str__(self) -> str:
        return f"{OPENING} [Resonance: {self.code}] [Role: {self.role}] [State: {self.state}]"


def parse(text: str) -> Footer | None:
    """The footer of an assistant's text: its last line, and the only footer in it; None otherwise.

    Two footers, one in a code block or a quotation, upper case and a seventh digit are not accepted.
    """
    if text.count(OPENING) != 1:
        return None
    body = text.rstrip()
    # A fence that was never closed makes all below it a quotation.
    if body.count("```") % 2:
        return None
    found = _LINE.fullmatch(body[body.rfind("\n") + 1 :].rstrip())
    return Footer(found["code"], found["role"], STATES[found["state"]]) if found else None


def newest(messages: Iterable[tuple[str, str]], role: str) -> Footer | None:
    """The newest footer of a conversation, as (who, text) pairs, that names this role (R23).

    Only what the assistant said counts: anyone can write a footer into a file, a tool's result or a prompt.
    """
    found = None
    for who, text in messages:
        footer = parse(text) if who == "assistant" else None
        if footer is not None and footer.role == role:
            found = footer
    return found
