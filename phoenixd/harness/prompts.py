"""A text on its way into an agent CLI's input line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

FIRST_WORDS = 30
"""Characters of a prompt by which it is known again on a screen."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a CLI makes of a text that is typed into it.

    text: what is to be typed, such that the CLI submits, and reports by hook and transcript, exactly that.
    problem: why it must not be typed; empty when it may.
    is_command: the CLI obeys it by itself, and no hook tells of it.
    is_seen: the screen shows whether the text stands in the input line.
    """

    text: str
    problem: str = ""
    is_command: bool = False
    is_seen: bool = True


def is_held(prompt: str, lines: Sequence[str], end: int, head: re.Pattern[str], mark: re.Pattern[str]) -> bool:
    """Whether a prompt stands, as far as its first words tell, between the last line that `head` matches and `end`.

    mark: what stands before each of them.
    """
    heads = [number for number, line in enumerate(lines) if head.match(line)]
    first = prompt.strip().split("\n")[0][:FIRST_WORDS].rstrip()
    return bool(heads) and any(mark.sub("", line, count=1).startswith(first) for line in lines[heads[-1] + 1 : end])
