"""A text on its way into an agent CLI's input line."""

from __future__ import annotations

from dataclasses import dataclass


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
