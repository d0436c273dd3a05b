"""What a session's transcript says, a line each: prompts, words, tool calls and their results, of any CLI's writing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from phoenixd.documents.deeds import clipped
from phoenixd.documents.times import read_time
from phoenixd.documents.transcript import Piece, Said

LogKind = Literal["prompt", "said", "tool", "result", "error"]

MOST_TEXT = 4_000
"""Characters of one line."""
CUT = "... ({} characters more)"
MOST_CALLS = 1_000
"""Calls whose tools' names are kept until their results come."""
TELLING = (
    "command", "cmd", "file_path", "path", "notebook_path", "pattern", "query", "url", "description", "prompt",
    "subject", "skill",
)  # fmt: skip
"""Arguments that say most of a call, the most telling first, whatever the tool."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line. at: wall seconds, None where the transcript tells no time. tool: of a call, and of its result.

    text is one line without secrets, and not to be trusted: what shows it makes visible what is no plain text.
    """

    agent: str
    kind: LogKind
    text: str
    at: float | None = None
    tool: str = ""


class Reading:
    """Makes lines of what was said; results bear the names of the tools that were called before them."""

    def __init__(self, agent: str, clean: Callable[[str], str]) -> None:
        self._agent = agent
        self._clean = clean
        self._calls: dict[str, str] = {}

    def lines(self, said: Iterable[Said]) -> list[LogLine]:
        """In the order in which it was said; what is said anew takes the place of what it replaces."""
        newest: dict[str, list[Said]] = {}
        kept: list[Said] = []
        for one in said:
            for void in newest.pop(one.key, []) if one.key is not None else ():
                kept = [other for other in kept if other is not void]
            if one.key is not None:
                newest[one.key] = [one]
            kept.append(one)
        return [line for one in kept for piece in one.pieces if (line := self._line(piece)) is not None]

    def _line(self, piece: Piece) -> LogLine | None:
        tool = piece.tool
        match piece.speaker:
            case "user":
                kind: LogKind = "prompt"
            case "assistant" if tool:
                kind = "tool"
                self._remember(piece.call, tool)
            case "assistant":
                kind = "error" if piece.failed else "said"
            case _:
                kind = "error" if piece.failed else "result"
                tool = tool or self._calls.pop(piece.call, "")
        text = _telling(piece.text) if kind == "tool" else piece.text
        if kind != "tool" and not text.strip():
            if kind not in ("result", "error"):
                return None
            text = "(nothing)"
        return LogLine(self._agent, kind, self._one_line(text), read_time(piece.at), self._clean(tool)[:100])

    def _one_line(self, text: str) -> str:
        # Secrets first, and no word cut in two: half of one would not be known for what it is.
        clean = " ".join(self._clean(clipped(text, 4 * MOST_TEXT)).split())
        left = len(clean) - MOST_TEXT + max(0, len(text) - 4 * MOST_TEXT)
        return clean if left <= 0 else clean[:MOST_TEXT] + CUT.format(left)

    def _remember(self, call: str, tool: str) -> None:
        self._calls[call] = tool
        while len(self._calls) > MOST_CALLS:
            del self._calls[next(iter(self._calls))]


def merged(lines: Iterable[LogLine], most: int) -> list[LogLine]:
    """The newest lines of several agents in the order of time; a line without one stands behind the one before it."""
    timed: list[LogLine] = []
    for line in lines:
        before = timed[-1].at if timed and timed[-1].agent == line.agent else None
        timed.append(replace(line, at=before) if line.at is None else line)
    return sorted(timed, key=lambda line: line.at or 0.0)[-most:]


def _telling(text: str) -> str:
    """What a call is about: its most telling argument, else all of them."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(given, dict):
        return text
    for name in TELLING:
        found = given.get(name)
        if isinstance(found, list):
            found = " ".join(map(str, found))
        if isinstance(found, str) and found.strip():
            return found
    return text if given else ""
