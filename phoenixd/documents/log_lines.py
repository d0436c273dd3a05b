"""What a session's transcript says, a line each: prompts, words, tool calls and their results, of any CLI's writing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from phoenixd.documents.deeds import clipped
from phoenixd.documents.times import read_time
from phoenixd.documents.transcript import Piece, Said

LogKind = Literal["prompt", "said", "tool", "result", "error", "session"]
"""session: no line of a transcript, but where the lines of another session begin."""

MOST_TEXT = 4_000
"""Characters of one line."""
CUT = "... ({} characters more)"
MOST_CALLS = 1_000
"""Calls whose tools' names are kept until their results come."""
MOST_TOLD = 256
"""Things said that are remembered with what was told of them, should they be said anew."""
AHEAD = 60.0
"""Seconds beyond now that a line's time may lie: an agent writes these times, and its clock may be wrong."""
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
        self.agent = agent
        self._clean = clean
        self._calls: dict[str, str] = {}
        self._told: dict[str, frozenset[int]] = {}
        """By key what was told of it, in short."""

    def learn(self, said: Iterable[Said]) -> None:
        """Take in what was said before the first line that is wanted: the tools that were called."""
        for piece in (piece for one in said for piece in one.pieces):
            if piece.speaker == "assistant" and piece.tool:
                self._remember(piece.call, piece.tool)

    def lines(self, said: Iterable[Said]) -> list[LogLine]:
        """In the order in which it was said; what is said anew takes the place of what it replaces.

        Of what is said anew after it was told, only what is new of it is told.
        """
        newest: dict[str, list[Said]] = {}
        kept: list[Said] = []
        for one in said:
            for void in newest.pop(one.key, []) if one.key is not None else ():
                kept = [other for other in kept if other is not void]
            if one.key is not None:
                newest[one.key] = [one]
            kept.append(one)
        return [line for one in kept for piece in self._untold(one) if (line := self._line(piece)) is not None]

    def _untold(self, said: Said) -> list[Piece]:
        if said.key is None:
            return list(said.pieces)
        told = self._told.pop(said.key, frozenset())
        self._told[said.key] = told | {hash(piece) for piece in said.pieces}
        while len(self._told) > MOST_TOLD:
            del self._told[next(iter(self._told))]
        return [piece for piece in said.pieces if hash(piece) not in told]

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
        return LogLine(self.agent, kind, self._one_line(text), read_time(piece.at), self._clean(tool)[:100])

    def _one_line(self, text: str) -> str:
        # Secrets first, and no word cut in two: half of one would not be known for what it is.
        clean = " ".join(self._clean(clipped(text, 4 * MOST_TEXT)).split())
        left = len(clean) - MOST_TEXT + max(0, len(text) - 4 * MOST_TEXT)
        return clean if left <= 0 else clean[:MOST_TEXT] + CUT.format(left)

    def _remember(self, call: str, tool: str) -> None:
        self._calls[call] = tool
        while len(self._calls) > MOST_CALLS:
            del self._calls[next(iter(self._calls))]


class Newest:
    """The newest lines of several agents. Whatever times an agent writes, its lines keep their order, and hide no
    other agent's.

    A line without a time stands behind the one before it. A time in the future is none: such a line stands before the
    next one that has a time, or with what is said now; of these no agent has more than its share.
    """

    def __init__(self, most: int, now: float, agents: int) -> None:
        """now: wall seconds. agents: how many share the place."""
        self._most = most
        self._now = now
        self._share = most if agents < 2 else max(1, most // agents)
        self._found: list[tuple[float, LogLine]] = []

    @property
    def floor(self) -> float | None:
        """Wall seconds before which no line is wanted any more; None while there is room."""
        self._cut()
        return self._found[0][0] if len(self._found) >= self._most else None

    def add(self, lines: Sequence[LogLine]) -> None:
        """What one agent said, in its order."""
        timed: list[tuple[float | None, LogLine]] = []
        newest: float | None = None
        for line in lines:
            if line.at is None:
                line = replace(line, at=newest)
            elif line.at > self._now + AHEAD:
                timed.append((None, replace(line, at=None)))
                continue
            else:
                newest = line.at if newest is None else max(newest, line.at)
            timed.append((newest or 0.0, line))
        after, unknown = self._now, 0
        placed: list[tuple[float, LogLine]] = []
        for key, line in reversed(timed):
            if key is None and after == self._now:
                unknown += 1
                if unknown > self._share:
                    continue
            after = after if key is None else key
            placed.append((after, line))
        self._found += reversed(placed)
        if len(self._found) > 2 * self._most:
            self._cut()

    def lines(self) -> list[LogLine]:
        """The newest, the oldest of them first."""
        self._cut()
        return [line for _, line in self._found]

    def _cut(self) -> None:
        self._found = sorted(self._found, key=lambda one: one[0])[-self._most :] if self._most else []


def merged(lines: Iterable[LogLine], most: int, now: float) -> list[LogLine]:
    """The newest lines of several agents, given agent by agent, in the order of time."""
    by_agent: dict[str, list[LogLine]] = {}
    for line in lines:
        by_agent.setdefault(line.agent, []).append(line)
    newest = Newest(most, now, len(by_agent))
    for told in by_agent.values():
        newest.add(told)
    return newest.lines()


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
